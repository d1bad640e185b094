-- Which plates were read by two cameras within less time than the drive takes?
--
-- Parameters: owner; since, before (UTC; since inclusive, before exclusive); seconds (maximum time between the
-- two readings, exclusive).
-- Result: plate, first_at (UTC), first_camera, second_at, second_camera, apart_seconds; latest first. The plate
-- was copied, or another plate was misread as it.
SELECT
    plate,
    before_at AS first_at,
    before_name AS first_camera,
    ts AS second_at,
    camera_name AS second_camera,
    round(dateDiff('millisecond', before_at, ts) / 1000, 3) AS apart_seconds
FROM
(
    SELECT
        plate,
        ts,
        camera_id,
        camera_name,
        lagInFrame(toNullable(ts)) OVER passes AS before_at,
        lagInFrame(camera_id) OVER passes AS before_camera,
        lagInFrame(camera_name) OVER passes AS before_name
    FROM analysis_recognitions
    WHERE user_id = {owner:UUID}
      AND ts >= {since:DateTime64(3, 'UTC')} AND ts < {before:DateTime64(3, 'UTC')}
      AND source = 'camera'
    WINDOW passes AS (PARTITION BY plate ORDER BY ts, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
)
WHERE before_camera != camera_id AND apart_seconds < {seconds:UInt32}
ORDER BY second_at DESC, plate
