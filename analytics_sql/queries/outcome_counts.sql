-- Question: how many passes and image calls of an owner are told of in a span, by their outcome?
--
-- Parameters:
--   user_id         owner
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
-- Result: with_reading, without_reading: image calls that found a plate; image calls and passes that
-- did not end in an accepted reading. Passes that did are recognitions, not counted here. One row.
-- Sort key: (user_id, ts); one scan of the span. FINAL: a row written twice counts once.
SELECT
    countIf(accepted) AS with_reading,
    countIf(NOT accepted) AS without_reading
FROM pass_outcomes FINAL
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
SETTINGS do_not_merge_across_partitions_select_final = 1
