-- Question: how many recognitions of an account's plate are there in a time range?
--
-- Parameters:
--   user_id             account
--   plate               normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
-- Result: recognitions; one row.
-- Sort key: (user_id, ts); one scan of one column. Without FINAL, because duplicates with the plate must be
-- deleted, too.
SELECT uniqExact(ts, id) AS recognitions
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND plate = {plate:String}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
