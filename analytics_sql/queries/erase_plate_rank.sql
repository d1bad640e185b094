-- Takes an owner's plate out of the rank of the most frequent ones, and returns when it is gone.
--
-- Parameters:
--   user_id     owner
--   plate_hash  SHA-256, lower hexadecimal, of owner, a blank and the normalised plate
-- By the hash, as the server keeps the text of such a statement.
ALTER TABLE plate_ranks UPDATE
    recognitions = arrayFilter((each, plate) -> lower(hex(SHA256(concat(toString(user_id), ' ', plate))))
                                                != {plate_hash:String}, recognitions, plates),
    newest = arrayFilter((each, plate) -> lower(hex(SHA256(concat(toString(user_id), ' ', plate))))
                                          != {plate_hash:String}, newest, plates),
    plates = arrayFilter(plate -> lower(hex(SHA256(concat(toString(user_id), ' ', plate))))
                                  != {plate_hash:String}, plates)
WHERE user_id = {user_id:UUID}
SETTINGS mutations_sync = 2
