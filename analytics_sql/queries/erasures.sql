-- Question: what was erased on request, within as long as records are on their way?
--
-- Result: user_id, plate_hash ('': all of the owner), before_ms (Unix ms, UTC, exclusive).
-- Sort key: none; the table holds the requests of thirty days. FINAL: the latest of each.
SELECT user_id, plate_hash, toUnixTimestamp64Milli(before) AS before_ms
FROM erasures FINAL
