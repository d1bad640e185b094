-- Question: which spellings of plates other than the normalised one are in an account's deliveries, in a time range?
--
-- Parameters:
--   user_id             account
--   from_ms, before_ms  Unix ms, UTC, of the event; from is inclusive, before exclusive
-- Result: plate (as written), each once. The caller normalises it.
-- Sort key: (user_id); one scan of the account's rows, at most three months.
SELECT DISTINCT plate
FROM delivery_attempts
ARRAY JOIN arrayFilter(
  written -> match(written, '[^0-9A-Z]'),
  arrayConcat(
      [
          JSONExtractString(delivery, 'recognition', 'plate'),
          JSONExtractString(delivery, 'trigger', 'recognition', 'plate'),
          JSONExtractString(delivery, 'trigger', 'early', 'plate')
      ],
      JSONExtract(delivery, 'recognition', 'provisionalPlates', 'Array(Tuple(plate String))').plate,
      JSONExtract(delivery, 'trigger', 'recognition', 'provisionalPlates', 'Array(Tuple(plate String))').plate,
      JSONExtract(delivery, 'trigger', 'alert', 'plates', 'Array(String)')
  )
) AS plate
WHERE user_id = {user_id:UUID}
  AND occurred >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND occurred < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
  AND delivery != ''
