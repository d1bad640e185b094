-- Question: what is the minimum retention of recognitions, according to their table?
--
-- Result: days (0: none is set); one row.
-- Sort key: none; system tables.
SELECT toUInt32OrZero(extract(any(create_table_query), 'toIntervalDay\\((?:_CAST\\()?(\\d+)')) AS days
FROM system.tables
WHERE database = currentDatabase()
  AND name = 'recognitions'
