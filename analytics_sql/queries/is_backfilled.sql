-- Question: is a table that is made of older rows complete?
--
-- Parameters: name (the table's).
-- Result: 1 (or more) or 0.
-- Sort key: name.
SELECT count()
FROM backfills
WHERE name = {name:String}
