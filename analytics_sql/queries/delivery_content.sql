-- Question: what is the content of a delivery, so that it can be sent again?
--
-- Parameters:
--   user_id, webhook_id, alert_id  target; one of the last two is nil
--   delivery_id          delivery
--   occurred_ms          Unix ms, UTC, from the ID (common.records.ids.uuid_unix_ms)
-- Result: one row or none: the encoded record, '' after its retention.
-- Sort key: (user_id, webhook_id, occurred, delivery_id).
SELECT delivery
FROM delivery_attempts
WHERE user_id = {user_id:UUID}
  AND webhook_id = {webhook_id:UUID}
  AND alert_id = {alert_id:UUID}
  AND occurred = fromUnixTimestamp64Milli({occurred_ms:Int64}, 'UTC')
  AND delivery_id = {delivery_id:UUID}
ORDER BY delivery = '', started DESC
LIMIT 1
