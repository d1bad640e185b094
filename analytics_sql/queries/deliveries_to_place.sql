-- Question: what became of the deliveries to an owner's webhook, or of an alert's own notifications, the
-- latest tried first?
--
-- Parameters:
--   user_id, webhook_id, alert_id  whose deliveries; one of the last two is nil
--   from_ms              only of events that happened then or later (Unix ms, UTC)
--   outcomes             only deliveries whose last attempt ended so; empty: all
--   before_ms            only those last tried before (Unix ms, UTC)
--   limit                at most so many
-- Result: a row for each delivery, with what its last attempt came to; attempts of all rounds count.
-- Sort key: (user_id, webhook_id, occurred).
SELECT
    delivery_id,
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
FROM delivery_attempts FINAL
WHERE user_id = {user_id:UUID}
  AND webhook_id = {webhook_id:UUID}
  AND alert_id = {alert_id:UUID}
  AND occurred >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
GROUP BY delivery_id
HAVING last_started_ms < {before_ms:Int64}
   AND (empty({outcomes:Array(String)}) OR has({outcomes:Array(String)}, last_outcome))
ORDER BY last_started_ms DESC, delivery_id
LIMIT {limit:UInt32}
SETTINGS do_not_merge_across_partitions_select_final = 1
