-- Question: where does a part of an export end, and does anything follow it?
--
-- Parameters: those of the list (recognitions_page.sql), which stands for PAGE below, and
--   rows  rows of the part at most
-- Result: rows of the page with their copies, rows without them, and the last row of the part (Unix ms,
-- UTC, and its id).
-- Sort key: as of the list.
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
