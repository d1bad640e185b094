-- Records that everything written for an account before a given time is in the rollups.
--
-- Parameters:
--   user_id   account
--   as_of_ms  Unix ms, UTC
INSERT INTO traffic_states SELECT {user_id:UUID}, fromUnixTimestamp64Milli({as_of_ms:Int64}, 'UTC')
