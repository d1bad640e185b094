-- Question: which events of a time range were for a webhook, so that they can be sent again?
--
-- Parameters:
--   user_id, webhook_id  target
--   events               event types
--   from_ms, to_ms       time of the event (Unix ms, UTC), end exclusive
--   limit                maximum number of rows
-- Result: the encoded record of each event, in order, without those requested by clients.
-- Sort key: (user_id, webhook_id, occurred).
SELECT any(delivery) AS content
FROM delivery_attempts
WHERE user_id = {user_id:UUID}
  AND webhook_id = {webhook_id:UUID}
  AND occurred >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND occurred < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
  AND has({events:Array(String)}, event)
  AND cause = 'event'
  AND delivery != ''
GROUP BY occurred, event_id
ORDER BY occurred, event_id
LIMIT {limit:UInt32}
