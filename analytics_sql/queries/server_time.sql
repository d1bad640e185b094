-- Question: what is the time of the server that writes rows?
--
-- Result: now_ms (Unix ms, UTC); one row.
-- Sort key: none.
SELECT toUnixTimestamp64Milli(now64(3, 'UTC')) AS now_ms
