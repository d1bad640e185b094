-- Clears the content of an account's deliveries that contain a plate, in a time range. The rows remain, as
-- after retention.
--
-- Parameters:
--   user_id             account
--   spelling_hashes     SHA-256, lower-case hexadecimal, of account, space and each spelling of the plate
--   from_ms, before_ms  Unix ms, UTC, of the event; from is inclusive, before exclusive
-- By hash, because the server stores the text of the statement. Conditions as in plate_deliveries.sql.
ALTER TABLE delivery_attempts UPDATE delivery = ''
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
SETTINGS mutations_sync = 2
