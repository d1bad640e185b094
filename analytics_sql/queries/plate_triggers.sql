-- Question: how many firings of an owner's alerts bear a plate, in a span?
--
-- Parameters:
--   user_id             owner
--   plate               normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
-- Result: triggers; one row.
-- Sort key: (user_id); one scan of the owner's rows, of three columns. Without FINAL: a copy that
-- bears the plate is to go as well.
SELECT uniqExact(alert_id, ts, id) AS triggers
FROM alert_triggers
WHERE user_id = {user_id:UUID}
  AND plate = {plate:String}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
