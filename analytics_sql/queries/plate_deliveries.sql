-- Question: how many deliveries of an account contain a plate, in a time range?
--
-- Parameters:
--   user_id             account
--   spelling_hashes     SHA-256, lower-case hexadecimal, of account, space and each spelling of the plate
--   from_ms, before_ms  Unix ms, UTC, of the event; from is inclusive, before exclusive
-- Result: deliveries; one row. The plate can be the final plate, an early one, or an entry of the alert's
-- list, as in analytics_sql.deliveries.
-- Spellings: the normalised plate, and those from plate_spellings.sql that normalise to it.
-- Sort key: (user_id); one scan of the account's rows, at most three months.
SELECT uniqExact(delivery_id) AS deliveries
FROM delivery_attempts
WHERE user_id = {user_id:UUID}
  AND occurred >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND occurred < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
  AND delivery != ''
  AND arrayExists(
      plate -> has({spelling_hashes:Array(String)}, lower(hex(SHA256(concat(toString(user_id), ' ', plate))))),
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
  )
