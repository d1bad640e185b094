-- Deletes an owner's plate from those that are looked for by their pieces, and returns when it is gone.
--
-- Parameters:
--   user_id     owner
--   plate_hash  SHA-256, lower hexadecimal, of owner, a blank and the normalised plate
-- By the hash, as the server keeps the text of such a statement.
ALTER TABLE plate_pieces DELETE
WHERE user_id = {user_id:UUID}
  AND lower(hex(SHA256(concat(toString(user_id), ' ', plate)))) = {plate_hash:String}
SETTINGS mutations_sync = 2
