-- Deletes an account's plate from the search index of pieces; returns when it is deleted.
--
-- Parameters:
--   user_id     account
--   plate_hash  SHA-256, lower-case hexadecimal, of account, space and normalised plate
-- By hash, because the server stores the text of the statement.
ALTER TABLE plate_pieces DELETE
WHERE user_id = {user_id:UUID}
  AND lower(hex(SHA256(concat(toString(user_id), ' ', plate)))) = {plate_hash:String}
SETTINGS mutations_sync = 2
