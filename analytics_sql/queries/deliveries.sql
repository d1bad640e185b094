-- Question: what became of the deliveries to an owner's webhook, or of an alert's own notifications, or of
-- certain events, the latest tried first?
--
-- A line that ends in "-- if NAME" stands in the query only when that parameter is given.
--
-- Parameters:
--   user_id              owner
--   webhook_id, alert_id  whose deliveries; one of them is nil
--   event_ids            only of these events
--   from_ms              only of events that happened then or later (Unix ms, UTC)
--   to_ms                only of events that happened then or earlier (Unix ms, UTC)
--   outcomes             only deliveries whose last attempt ended so; empty: all
--   before_ms            only those last tried before (Unix ms, UTC)
--   limit                at most so many
-- Result: a row for each delivery, with its target (webhook_id and alert_id, one of which is nil) and with what its
-- last attempt came to; attempts of all rounds count.
-- Sort key: (user_id, webhook_id, occurred); of events the granules of the span, of each webhook.
SELECT
    delivery_id,
    any(tried.webhook_id) AS webhook_id,
    any(tried.alert_id) AS alert_id,
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
  AND tried.webhook_id = {webhook_id:UUID} -- if webhook_id
  AND tried.alert_id = {alert_id:UUID} -- if alert_id
  AND tried.event_id IN {event_ids:Array(UUID)} -- if event_ids
  AND occurred >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND occurred <= fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC') -- if to_ms
GROUP BY delivery_id
HAVING last_started_ms < {before_ms:Int64}
   AND (empty({outcomes:Array(String)}) OR has({outcomes:Array(String)}, last_outcome))
ORDER BY last_started_ms DESC, delivery_id
LIMIT {limit:UInt32}
SETTINGS do_not_merge_across_partitions_select_final = 1
