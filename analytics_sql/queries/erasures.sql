-- Question: what was erased on request, within the maximum age of records under way?
--
-- Result: user_id, plate_hash ('': whole account), before_ms (Unix ms, UTC, exclusive).
-- Sort key: none; the table contains the requests of thirty days. FINAL: the latest of each.
SELECT user_id, plate_hash, toUnixTimestamp64Milli(before) AS before_ms
FROM erasures FINAL
