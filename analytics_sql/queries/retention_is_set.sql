-- Question: is the retention of a table's rows (or personal data) this many days?
--
-- Parameters: table (its name), days.
-- Result: 1 or 0.
-- Sort key: none; system tables.
SELECT count()
FROM system.tables
WHERE database = currentDatabase()
  AND name = {table:String}
  AND match(
      create_table_query,
      concat('toIntervalDay\\((_CAST\\()?', toString({days:UInt32}), '[^0-9]')
  )
