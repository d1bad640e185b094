-- Which plates were read on several days, and on how many?
--
-- Parameters: owner; since, before (UTC; since inclusive, before exclusive); zone (IANA time zone);
-- days (minimum number).
-- Result: plate, days (in the zone), recognitions, first_at, latest_at (UTC), cameras (their latest names); the
-- plates with the most days first.
SELECT
    plate,
    uniqExact(toDate(ts, {zone:String})) AS days,
    count() AS recognitions,
    min(ts) AS first_at,
    max(ts) AS latest_at,
    arraySort(groupUniqArray(camera_name)) AS cameras
FROM analysis_recognitions
WHERE user_id = {owner:UUID}
  AND ts >= {since:DateTime64(3, 'UTC')} AND ts < {before:DateTime64(3, 'UTC')}
  AND source = 'camera'
GROUP BY plate
HAVING days >= {days:UInt32}
ORDER BY days DESC, recognitions DESC, plate
