-- Clears an account's plate in the triggers of a time range. The rows remain, as after retention.
--
-- Parameters:
--   user_id             account
--   plate_hash          SHA-256, lower-case hexadecimal, of account, space and normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
-- By hash, because the server stores the text of the statement.
ALTER TABLE alert_triggers UPDATE plate = ''
WHERE user_id = {user_id:UUID}
  AND lower(hex(SHA256(concat(toString(user_id), ' ', plate)))) = {plate_hash:String}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
SETTINGS mutations_sync = 2
