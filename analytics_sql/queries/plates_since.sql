-- Question: how often was each plate of an owner read since its rank was counted?
--
-- Parameters:
--   user_id            owner
--   from_ms, to_ms     Unix ms, UTC; from is inclusive, to exclusive
--   since_ms, until_ms Unix ms, UTC: what was captured from since_ms on and before until_ms is in the rank
--   written_ms         Unix ms, UTC: if it was written before this
--   ranked             plates of the rank: they come all, as far as there is anything of them
--   limit              rows of other plates, the most frequent first
-- Result: plate, newer, late, last_ms: recognitions from until_ms on; rows from before it that were written
-- since, of which some may be copies; Unix ms, UTC of the newest of both.
-- Sort key: (user_id, ts); of the time before until_ms the granules that hold anything new, by the index
-- ingested_range. A row written twice counts once in newer. Projections could not help, and looking whether they
-- might takes a fifth of the time.
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
