-- Question: does the table of recognitions exist, and can we read it?
--
-- Result: one column, no rows.
-- Sort key: none; no granule is read.
SELECT 1
FROM recognitions
LIMIT 0
