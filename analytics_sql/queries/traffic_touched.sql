-- Question: which quarters of an hour in an account's time range have changed since a given time?
--
-- Parameters:
--   user_id         account
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
--   as_of_ms        Unix ms, UTC: only writes and erasures after it; NULL: after the account's as_of
-- Result: quarter (since 1970), touched_ms (Unix ms, UTC: when one of its rows was last written or erased).
-- Sort key: (user_id, ts); only granules with new rows, by the index ingested_range. Without FINAL, because a
-- duplicate changes its quarter, too.
WITH ifNull(
    fromUnixTimestamp64Milli({as_of_ms:Nullable(Int64)}, 'UTC'),
    (SELECT max(as_of) FROM traffic_states WHERE user_id = {user_id:UUID})
) AS since
SELECT quarter, toUnixTimestamp64Milli(max(touched)) AS touched_ms
FROM
(
    SELECT intDiv(toUnixTimestamp64Milli(ts), 900000) AS quarter, max(ingested_at) AS touched
    FROM recognitions
    WHERE user_id = {user_id:UUID}
      AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
      AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
      AND ingested_at > since
    GROUP BY quarter
    UNION ALL
    SELECT intDiv(toUnixTimestamp64Milli(ts), 900000) AS quarter, max(ingested_at) AS touched
    FROM pass_outcomes
    WHERE user_id = {user_id:UUID}
      AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
      AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
      AND ingested_at > since
    GROUP BY quarter
    UNION ALL
    SELECT toInt64(quarter) AS quarter, touched_at AS touched
    FROM traffic_reopened FINAL
    WHERE user_id = {user_id:UUID}
      AND touched_at > since
)
GROUP BY quarter
SETTINGS optimize_use_projections = 0
