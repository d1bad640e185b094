-- Removes an account's plate from the rank of the most frequent ones; returns when it is removed.
--
-- Parameters:
--   user_id     account
--   plate_hash  SHA-256, lower-case hexadecimal, of account, space and normalised plate
-- By hash, because the server stores the text of the statement.
ALTER TABLE plate_ranks UPDATE
    recognitions = arrayFilter((each, plate) -> lower(hex(SHA256(concat(toString(user_id), ' ', plate))))
                                                != {plate_hash:String}, recognitions, plates),
    newest = arrayFilter((each, plate) -> lower(hex(SHA256(concat(toString(user_id), ' ', plate))))
                                          != {plate_hash:String}, newest, plates),
    plates = arrayFilter(plate -> lower(hex(SHA256(concat(toString(user_id), ' ', plate))))
                                  != {plate_hash:String}, plates)
WHERE user_id = {user_id:UUID}
SETTINGS mutations_sync = 2
