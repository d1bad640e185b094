-- Question: where does a part of an export end, and does anything follow it?
--
-- Parameters: those of the list (recognitions_page.sql), which replaces PAGE below, and
--   rows  maximum number of rows of the part
-- Result: rows of the page with duplicates, rows without them, and the last row of the part (Unix ms, UTC,
-- and its ID).
-- Sort key: as for the list.
WITH arrayReverseSort(groupArray((captured_ms, id))) AS places
SELECT
    sum(copies) AS all_rows,
    count() AS found_rows,
    places[least({rows:UInt32}, found_rows)] AS place,
    place.1 AS last_ms,
    place.2 AS last_id
FROM
(
    SELECT captured_ms, id, count() AS copies
    FROM (PAGE)
    GROUP BY captured_ms, id
)
