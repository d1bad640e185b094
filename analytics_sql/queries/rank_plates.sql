-- Counts how often an account's cameras read these plates in a time range, and stores it as the account's rank.
--
-- Parameters:
--   user_id         account
--   counted_ms      Unix ms, UTC: a time before this count
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
--   plates          normalised plates
--   others          upper bound for all other plates
-- By the projection times_by_plate. A row written twice counts once, by its hash.
INSERT INTO plate_ranks
SELECT
    {user_id:UUID},
    fromUnixTimestamp64Milli({counted_ms:Int64}, 'UTC'),
    fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC'),
    fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC'),
    {others:UInt64},
    groupArray(plate),
    groupArray(number),
    groupArray(newest)
FROM
(
    SELECT plate, uniqExact((ts, camera_id, id_hash)) AS number, max(ts) AS newest
    FROM recognitions
    WHERE user_id = {user_id:UUID}
      AND plate IN {plates:Array(String)}
      AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
      AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
    GROUP BY plate
    ORDER BY number DESC, plate
)
SETTINGS optimize_read_in_order = 0
