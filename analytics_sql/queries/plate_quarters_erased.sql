-- Records that an account's plate is erased from the quarters recorded by reopen_plate_quarters.sql.
--
-- Parameters:
--   user_id     account
--   plate_hash  SHA-256, lower-case hexadecimal, of account, space and normalised plate
INSERT INTO traffic_reopened (user_id, quarter, plate_hash, touched_at)
SELECT user_id, quarter, plate_hash, now64(3, 'UTC')
FROM traffic_reopened FINAL
WHERE user_id = {user_id:UUID}
  AND plate_hash = {plate_hash:String}
  AND touched_at > now64(3, 'UTC')
