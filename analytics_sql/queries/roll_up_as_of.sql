-- Notes that all which was written of an owner before a moment is in the rollups.
--
-- Parameters:
--   user_id   owner
--   as_of_ms  Unix ms, UTC
INSERT INTO traffic_states SELECT {user_id:UUID}, fromUnixTimestamp64Milli({as_of_ms:Int64}, 'UTC')
