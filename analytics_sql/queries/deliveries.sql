-- Question: which deliveries to an account's webhook, or of an alert's own notifications, or of certain
-- events were attempted most recently, with what outcome?
--
-- A line that ends in "-- if NAME" is only part of the query if that parameter is given.
--
-- Parameters:
--   user_id              account
--   webhook_id, alert_id  target; one of them is nil
--   event_ids            only deliveries of these events
--   from_ms              only of events at this time or later (Unix ms, UTC)
--   to_ms                only of events at this time or earlier (Unix ms, UTC)
--   outcomes             only deliveries whose last attempt had one of these outcomes; empty: all
--   before_ms            only deliveries last attempted before this time (Unix ms, UTC)
--   limit                maximum number of rows
-- Result: one row per delivery, with its target (webhook_id and alert_id, one of which is nil) and its last
-- attempt; includes attempts of redeliveries.
-- Sort key: (user_id, webhook_id, occurred); for events, the granules of the range in each webhook.
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
