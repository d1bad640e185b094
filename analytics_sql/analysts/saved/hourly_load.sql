-- How many vehicles pass each camera per hour of the day, on average and at most?
--
-- Parameters: owner; since, before (UTC; since inclusive, before exclusive); zone (IANA time zone).
-- Result: camera (its latest name), hour (0 to 23, in the zone), days (in the zone, with recognitions in that
-- hour), mean (recognitions in that hour of such a day), most; by camera and hour.
SELECT argMax(name, latest) AS camera, hour, count() AS days, round(avg(passes), 1) AS mean, max(passes) AS most
FROM
(
    SELECT
        camera_id,
        argMax(camera_name, ts) AS name,
        max(ts) AS latest,
        toDate(ts, {zone:String}) AS day,
        toHour(ts, {zone:String}) AS hour,
        count() AS passes
    FROM analysis_recognitions
    WHERE user_id = {owner:UUID}
      AND ts >= {since:DateTime64(3, 'UTC')} AND ts < {before:DateTime64(3, 'UTC')}
      AND source = 'camera'
    GROUP BY camera_id, day, hour
)
GROUP BY camera_id, hour
ORDER BY camera, camera_id, hour
