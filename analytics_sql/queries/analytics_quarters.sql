-- Question: how many recognitions of an owner lie in each quarter of an hour of a span?
--
-- Parameters:
--   user_id         owner
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
-- Result: quarter (quarters of an hour since 1970, UTC), recognitions; none for an empty quarter, in
-- no order. Every time zone of today is a whole number of quarters away from UTC, so that the caller
-- can add them up to days and hours of any zone.
-- Sort key: (user_id, ts); one scan of the span. FINAL: a row written twice counts once.
SELECT
    intDiv(toUnixTimestamp64Milli(ts), 900000) AS quarter,
    count() AS recognitions
FROM recognitions FINAL
WHERE user_id = {user_id:UUID}
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
GROUP BY quarter
SETTINGS do_not_merge_across_partitions_select_final = 1
