-- Question: how many recognitions of an owner's plate does a span hold?
--
-- Parameters:
--   user_id             owner
--   plate               normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
-- Result: recognitions; one row.
-- Sort key: (user_id, ts); one scan of one column. Without FINAL: a copy that bears the plate is to go
-- as well.
SELECT uniqExact(ts, id) AS recognitions
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND plate = {plate:String}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
