-- How long did vehicles stay between an entry and an exit camera?
--
-- Parameters: owner; entry, exit (cameras); since, before (UTC; since inclusive, before exclusive).
-- Result: plate, entered, left (UTC), minutes; latest first.
-- Only an exit directly after an entry of the same plate counts: if one of the two was missed, there is no row,
-- instead of a stay of two days.
SELECT plate, entered, left, dateDiff('minute', entered, left) AS minutes
FROM
(
    SELECT
        plate,
        ts AS left,
        camera_id,
        lagInFrame(camera_id) OVER passes AS camera_before,
        lagInFrame(ts) OVER passes AS entered
    FROM analysis_recognitions
    WHERE user_id = {owner:UUID}
      AND ts >= {since:DateTime64(3, 'UTC')} AND ts < {before:DateTime64(3, 'UTC')}
      AND camera_id IN ({entry:UUID}, {exit:UUID})
    WINDOW passes AS (PARTITION BY plate ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
)
WHERE camera_before = {entry:UUID} AND camera_id = {exit:UUID}
ORDER BY left DESC, plate
