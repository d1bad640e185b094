-- Question: how many rows, including duplicates, does an account have in a time range?
--
-- Parameters:
--   user_id         account
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
-- Result: rows; one row.
-- Sort key: (user_id, ts); reads one column of it.
SELECT count() AS rows
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
