-- Question: is the table of recognitions there, and may we read it?
--
-- Result: one column, no rows.
-- Sort key: none; no granule is read.
SELECT 1
FROM recognitions
LIMIT 0
