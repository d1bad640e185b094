-- Question: which buckets are stored of an owner's span, and since when do they stand?
--
-- Parameters:
--   user_id     owner
--   first, end  quarters since 1970; first is inclusive, end exclusive
-- Result: length, first_quarter, counted_ms (Unix ms, UTC), kept_days (days that recognitions are kept at
-- least, as their table says; 0: it does not).
-- Sort key: (user_id, length, first_quarter).
SELECT
    length,
    first_quarter,
    toUnixTimestamp64Milli(max(counted_at)) AS counted_ms,
    (
        SELECT toUInt32OrZero(extract(any(create_table_query), 'toIntervalDay\\((?:_CAST\\()?(\\d+)'))
        FROM system.tables
        WHERE database = currentDatabase() AND name = 'recognitions'
    ) AS kept_days
FROM traffic_buckets
WHERE user_id = {user_id:UUID}
  AND first_quarter >= {first:UInt32}
  AND first_quarter < {end:UInt32}
GROUP BY length, first_quarter
ORDER BY length, first_quarter
