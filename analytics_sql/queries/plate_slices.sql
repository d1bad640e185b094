-- Question: how many plates are there to be cut into pieces, about?
--
-- Result: plates; one row.
-- Sort key: none; one scan of one column.
SELECT uniqCombined(user_id, plate) AS plates
FROM recognitions
