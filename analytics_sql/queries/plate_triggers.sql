-- Question: how many triggers of an account's alerts have a plate, in a time range?
--
-- Parameters:
--   user_id             account
--   plate               normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
-- Result: triggers; one row.
-- Sort key: (user_id); one scan of the account's rows, of three columns. Without FINAL, because duplicates with
-- the plate must be cleared, too.
SELECT uniqExact(alert_id, ts, id) AS triggers
FROM alert_triggers
WHERE user_id = {user_id:UUID}
  AND plate = {plate:String}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
