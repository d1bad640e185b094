-- Question: how often were these plates of an account read in a time range?
--
-- Parameters:
--   user_id         account
--   plates          normalised plates
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
--   by_time         for a short range: read its rows instead of those of the plates
-- Result: plate, recognitions, last_ms (Unix ms, UTC, of the newest), for plates with any.
-- Sort key: the projection times_by_plate, or (user_id, ts) by time. A row written twice counts once, by its hash.
SELECT
    plate,
    uniqExact((ts, camera_id, id_hash)) AS recognitions,
    toUnixTimestamp64Milli(max(ts)) AS last_ms
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND plate IN {plates:Array(String)}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
GROUP BY plate
SETTINGS optimize_read_in_order = 0
    , optimize_use_projections = 0 -- if by_time
