-- Question: of which owners was anything written that is in no rollup?
--
-- Parameters: since_ms (Unix ms, UTC): only what was written since.
-- Result: user_id.
-- Sort key: none; granules that hold anything so new, by the index ingested_range.
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
