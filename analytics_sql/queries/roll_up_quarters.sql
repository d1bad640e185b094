-- Counts quarters of an hour of an account and stores each as a bucket, including empty ones.
--
-- Parameters:
--   user_id         account
--   counted_ms      Unix ms, UTC: a time before this count
--   from_ms, to_ms  Unix ms, UTC, a range that contains the quarters; from is inclusive, to exclusive
--   quarters        quarters since 1970
-- FINAL: a row written twice counts once.
INSERT INTO traffic_buckets
WITH
    cameras AS
    (
        SELECT
            intDiv(toUnixTimestamp64Milli(ts), 900000) AS quarter,
            camera_id,
            count() AS number,
            max(ts) AS newest,
            argMax(camera_name, ts) AS name
        FROM recognitions FINAL
        WHERE user_id = {user_id:UUID}
          AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
          AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
          AND intDiv(toUnixTimestamp64Milli(ts), 900000) IN {quarters:Array(Int64)}
        GROUP BY quarter, camera_id
    ),
    outcomes AS
    (
        SELECT
            intDiv(toUnixTimestamp64Milli(ts), 900000) AS quarter,
            countIf(accepted) AS with_reading,
            countIf(NOT accepted) AS without_reading
        FROM pass_outcomes FINAL
        WHERE user_id = {user_id:UUID}
          AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
          AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
          AND intDiv(toUnixTimestamp64Milli(ts), 900000) IN {quarters:Array(Int64)}
        GROUP BY quarter
    )
SELECT
    {user_id:UUID},
    1,
    toUInt32(quarter),
    fromUnixTimestamp64Milli({counted_ms:Int64}, 'UTC'),
    [toUInt32(sum(number))],
    groupArrayIf(camera_id, number > 0),
    groupArrayIf(toUInt32(number), number > 0),
    groupArrayIf(newest, number > 0),
    groupArrayIf(name, number > 0),
    toUInt32(sum(with_reading)),
    toUInt32(sum(without_reading))
FROM
(
    SELECT quarter, camera_id, number, newest, name, 0 AS with_reading, 0 AS without_reading
    FROM cameras
    UNION ALL
    SELECT
        quarter,
        toUUID('00000000-0000-0000-0000-000000000000'),
        0,
        toDateTime64(0, 3, 'UTC'),
        '',
        with_reading,
        without_reading
    FROM outcomes
    UNION ALL
    SELECT
        arrayJoin({quarters:Array(Int64)}),
        toUUID('00000000-0000-0000-0000-000000000000'),
        0,
        toDateTime64(0, 3, 'UTC'),
        '',
        0,
        0
)
GROUP BY quarter
SETTINGS do_not_merge_across_partitions_select_final = 1
