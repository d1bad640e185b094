-- Question: how long are recognitions kept at least, as their table says?
--
-- Result: days (0: it does not say); one row.
-- Sort key: none; system tables.
SELECT toUInt32OrZero(extract(any(create_table_query), 'toIntervalDay\\((?:_CAST\\()?(\\d+)')) AS days
FROM system.tables
WHERE database = currentDatabase()
  AND name = 'recognitions'
