-- Question: which accounts have new rows that are not in any rollup?
--
-- Parameters: since_ms (Unix ms, UTC): only rows written since.
-- Result: user_id.
-- Sort key: none; only granules with such new rows, by the index ingested_range.
SELECT DISTINCT user_id
FROM
(
    SELECT DISTINCT user_id FROM recognitions WHERE ingested_at > fromUnixTimestamp64Milli({since_ms:Int64}, 'UTC')
    UNION ALL
    SELECT DISTINCT user_id FROM pass_outcomes WHERE ingested_at > fromUnixTimestamp64Milli({since_ms:Int64}, 'UTC')
    UNION ALL
    SELECT DISTINCT user_id FROM traffic_reopened WHERE noted_at > fromUnixTimestamp64Milli({since_ms:Int64}, 'UTC')
)
ORDER BY user_id
