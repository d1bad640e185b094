-- Question: are recognitions kept for this many days?
--
-- Parameters: days.
-- Result: 1 or 0.
-- Sort key: none; system tables.
SELECT count()
FROM system.tables
WHERE database = currentDatabase()
  AND name = 'recognitions'
  AND match(
      create_table_query,
      concat('toIntervalDay\\((_CAST\\()?', toString({days:UInt32}), '[^0-9]')
  )
