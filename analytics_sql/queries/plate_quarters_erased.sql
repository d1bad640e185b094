-- Notes that an owner's plate is erased from the quarters noted by reopen_plate_quarters.sql.
--
-- Parameters:
--   user_id     owner
--   plate_hash  SHA-256, lower hexadecimal, of owner, a blank and the normalised plate
INSERT INTO traffic_reopened (user_id, quarter, plate_hash, touched_at)
SELECT user_id, quarter, plate_hash, now64(3, 'UTC')
FROM traffic_reopened FINAL
WHERE user_id = {user_id:UUID}
  AND plate_hash = {plate_hash:String}
  AND touched_at > now64(3, 'UTC')
