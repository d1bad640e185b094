-- Question: which events of a time were to reach a webhook, so that they can be sent again?
--
-- Parameters:
--   user_id, webhook_id  whose deliveries
--   events               of these events
--   from_ms, to_ms       when they happened (Unix ms, UTC), the end not included
--   limit                at most so many
-- Result: the encoded record of each event, in order; nothing that clients had asked for.
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
