-- Empties an owner's plate in firings of a span; the rows stay, as at retention.
--
-- Parameters:
--   user_id             owner
--   plate_hash          SHA-256, lower hexadecimal, of owner, a blank and the normalised plate
--   from_ms, before_ms  Unix ms, UTC; from is inclusive, before exclusive
-- By the hash, as the server keeps the text of such a statement.
ALTER TABLE alert_triggers UPDATE plate = ''
WHERE user_id = {user_id:UUID}
  AND lower(hex(SHA256(concat(toString(user_id), ' ', plate)))) = {plate_hash:String}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
SETTINGS mutations_sync = 2
