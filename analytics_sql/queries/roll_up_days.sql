-- Sums the quarters of an hour of an account's days (UTC), and stores each day as a bucket.
--
-- Parameters:
--   user_id     account
--   counted_ms  Unix ms, UTC: a time before the new quarters were counted
--   days        days whose quarters all have a bucket, each given by its first quarter since 1970
INSERT INTO traffic_buckets
WITH
    quarters AS
    (
        SELECT *, intDiv(first_quarter, 96) * 96 AS day
        FROM traffic_buckets FINAL
        WHERE user_id = {user_id:UUID}
          AND length = 1
          AND intDiv(first_quarter, 96) * 96 IN {days:Array(UInt32)}
    ),
    totals AS
    (
        SELECT
            day,
            arrayMap(pair -> pair.2, arraySort(groupArray((first_quarter, quarters.recognitions[1]))))
                AS by_quarter,
            sum(with_reading) AS with_reading,
            sum(without_reading) AS without_reading
        FROM quarters
        GROUP BY day
        HAVING count() = 96
    ),
    cameras AS
    (
        SELECT
            day,
            camera,
            sum(number) AS number,
            max(newest) AS latest,
            argMax(name, newest) AS name
        FROM quarters
        ARRAY JOIN
            camera_ids AS camera, camera_recognitions AS number, camera_newest AS newest, camera_names AS name
        GROUP BY day, camera
    )
SELECT
    {user_id:UUID},
    96,
    toUInt32(totals.day),
    fromUnixTimestamp64Milli({counted_ms:Int64}, 'UTC'),
    any(totals.by_quarter),
    groupArrayIf(cameras.camera, cameras.number > 0),
    groupArrayIf(toUInt32(cameras.number), cameras.number > 0),
    groupArrayIf(cameras.latest, cameras.number > 0),
    groupArrayIf(cameras.name, cameras.number > 0),
    toUInt32(any(totals.with_reading)),
    toUInt32(any(totals.without_reading))
FROM totals LEFT JOIN cameras ON totals.day = cameras.day
GROUP BY totals.day
