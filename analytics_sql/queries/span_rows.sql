-- Question: how many rows, copies included, has an owner in a span?
--
-- Parameters:
--   user_id         owner
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
-- Result: rows; one row.
-- Sort key: (user_id, ts); reads one column of it.
SELECT count() AS rows
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
