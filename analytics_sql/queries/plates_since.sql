-- Question: how often was each plate of an account read since its rank was counted?
--
-- Parameters:
--   user_id            account
--   from_ms, to_ms     Unix ms, UTC; from is inclusive, to exclusive
--   since_ms, until_ms Unix ms, UTC: recognitions captured from since_ms until before until_ms are in the rank
--   written_ms         Unix ms, UTC: if they were written before this time
--   ranked             plates of the rank, all of which are returned if they have rows
--   limit              rows of other plates, the most frequent first
-- Result: plate, newer, late, last_ms: recognitions from until_ms on; earlier rows that were written since, some
-- of which may be duplicates; Unix ms, UTC, of the newest of both.
-- Sort key: (user_id, ts); before until_ms, only granules with new rows, by the index ingested_range. A row
-- written twice counts once in newer. Projections could not help, and checking whether they might takes a fifth of
-- the time.
SELECT plate, newer, late, last_ms
FROM
(
    SELECT
        plate,
        uniqExactIf((ts, id), is_newer) AS newer,
        countIf(NOT is_newer) AS late,
        toUnixTimestamp64Milli(max(ts)) AS last_ms,
        plate IN {ranked:Array(String)} AS is_ranked
    FROM
    (
        SELECT plate, ts, id, true AS is_newer
        FROM recognitions
        WHERE user_id = {user_id:UUID}
          AND ts >= fromUnixTimestamp64Milli(greatest({from_ms:Int64}, {until_ms:Int64}), 'UTC')
          AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
        UNION ALL
        SELECT plate, ts, id, false AS is_newer
        FROM recognitions
        WHERE user_id = {user_id:UUID}
          AND ts >= fromUnixTimestamp64Milli({since_ms:Int64}, 'UTC')
          AND ts < fromUnixTimestamp64Milli(least({to_ms:Int64}, {until_ms:Int64}), 'UTC')
          AND ingested_at > fromUnixTimestamp64Milli({written_ms:Int64}, 'UTC')
    )
    GROUP BY plate
    ORDER BY is_ranked DESC, newer + late DESC, last_ms DESC, plate
    LIMIT {limit:UInt32} BY is_ranked
)
SETTINGS optimize_use_projections = 0
