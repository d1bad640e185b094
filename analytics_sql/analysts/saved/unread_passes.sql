-- Which cameras see vehicles whose plates cannot be read?
--
-- Parameters: owner; since, before (UTC; since inclusive, before exclusive).
-- Result: camera_id, camera (its current name; NULL if deleted), passes, unread, unread_per_cent; worst first.
-- Covers at most the last 100 days, because outcomes are not retained longer.
SELECT
    p.camera_id AS camera_id,
    any(nullIf(c.name, '')) AS camera,
    count() AS passes,
    countIf(NOT accepted) AS unread,
    round(100 * unread / passes, 1) AS unread_per_cent
FROM analysis_passes AS p
LEFT JOIN analysis_cameras AS c ON c.camera_id = p.camera_id
WHERE p.user_id = {owner:UUID}
  AND p.ts >= {since:DateTime64(3, 'UTC')} AND p.ts < {before:DateTime64(3, 'UTC')}
  AND p.source = 'camera'
GROUP BY camera_id
ORDER BY unread_per_cent DESC, camera_id
