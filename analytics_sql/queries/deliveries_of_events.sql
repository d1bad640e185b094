-- Question: what became of the deliveries of these events of an owner, the latest tried first?
--
-- Parameters:
--   user_id         owner
--   event_ids       events
--   from_ms, to_ms  Unix ms, UTC; they happened then, both inclusive
--   limit           at most so many
-- Result: as deliveries_to_place.sql, with webhook_id and alert_id: one of them is nil.
-- Sort key: (user_id, webhook_id, occurred): of each webhook the granules of the span.
SELECT
    delivery_id,
    any(webhook_id) AS webhook_id,
    any(alert_id) AS alert_id,
    any(event_id) AS event_id,
    any(event) AS event,
    any(endpoint) AS endpoint,
    argMax(cause, (requested_ms, number)) AS cause,
    toUnixTimestamp64Milli(any(created)) AS created_ms,
    count() AS attempts,
    toUnixTimestamp64Milli(max(started)) AS last_started_ms,
    argMax(duration_ms, (requested_ms, number)) AS last_duration_ms,
    argMax(outcome, (requested_ms, number)) AS last_outcome,
    argMax(status, (requested_ms, number)) AS last_status,
    argMax(error, (requested_ms, number)) AS last_error,
    toUnixTimestamp64Milli(argMax(next_attempt, (requested_ms, number))) AS next_attempt_ms
FROM delivery_attempts AS tried FINAL
WHERE user_id = {user_id:UUID}
  AND occurred >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND occurred <= fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
  AND tried.event_id IN {event_ids:Array(UUID)}
GROUP BY delivery_id
ORDER BY last_started_ms DESC, delivery_id
LIMIT {limit:UInt32}
SETTINGS do_not_merge_across_partitions_select_final = 1
