-- Question: what are the counts in these buckets of an account, by quarter of an hour, camera and outcome?
--
-- Parameters:
--   user_id   account
--   days      whole days, each given by its first quarter since 1970
--   quarters  single quarters
-- Result: quarter, counts (recognitions of this quarter and the following ones), camera_id, newest_ms, newest_name,
-- number (recognitions of the camera), found, not_found (outcomes). A row of quarters has no camera_id (NULL), a row of
-- a camera no quarter, and the row of the outcomes neither.
-- Sort key: (user_id, length, first_quarter). FINAL: a bucket is its newest count.
WITH buckets AS
(
    SELECT *
    FROM traffic_buckets FINAL
    WHERE user_id = {user_id:UUID}
      AND ((length = 96 AND first_quarter IN {days:Array(UInt32)})
           OR (length = 1 AND first_quarter IN {quarters:Array(UInt32)}))
)
SELECT
    CAST(first_quarter AS Nullable(Int64)) AS quarter,
    CAST(recognitions AS Array(UInt64)) AS counts,
    CAST(NULL AS Nullable(UUID)) AS camera_id,
    toInt64(0) AS newest_ms,
    '' AS newest_name,
    toUInt64(0) AS number,
    toUInt64(0) AS found,
    toUInt64(0) AS not_found
FROM buckets
UNION ALL
SELECT
    NULL,
    [],
    camera,
    toUnixTimestamp64Milli(max(newest)),
    toString(argMax(name, newest)),
    sum(of_camera),
    0,
    0
FROM buckets
ARRAY JOIN
    camera_ids AS camera, camera_recognitions AS of_camera, camera_newest AS newest, camera_names AS name
GROUP BY camera
UNION ALL
SELECT NULL, [], NULL, 0, '', 0, sum(with_reading), sum(without_reading)
FROM buckets
