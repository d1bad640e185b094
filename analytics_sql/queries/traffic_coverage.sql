-- Question: which buckets are stored for an account's time range, and when were they counted?
--
-- Parameters:
--   user_id     account
--   first, end  quarters since 1970; first is inclusive, end exclusive
--   outside_days  exclude the quarters of days that have their own bucket
--   in_days       only the quarters of these days, each given by its first
-- Result: length, first_quarter, counted_ms, as_of_ms (Unix ms, UTC; everything written before as_of_ms is in the
-- buckets).
-- Sort key: (user_id, length, first_quarter).
SELECT
    length,
    first_quarter,
    toUnixTimestamp64Milli(max(counted_at)) AS counted_ms,
    (SELECT toUnixTimestamp64Milli(max(as_of)) FROM traffic_states WHERE user_id = {user_id:UUID}) AS as_of_ms
FROM traffic_buckets
WHERE user_id = {user_id:UUID}
  AND first_quarter >= {first:UInt32}
  AND first_quarter < {end:UInt32}
  AND (length = 96 OR intDiv(first_quarter, 96) * 96 NOT IN ( -- if outside_days
      SELECT first_quarter FROM traffic_buckets -- if outside_days
      WHERE user_id = {user_id:UUID} AND length = 96 -- if outside_days
        AND first_quarter >= {first:UInt32} AND first_quarter < {end:UInt32})) -- if outside_days
  AND length = 1 AND intDiv(first_quarter, 96) * 96 IN {in_days:Array(UInt32)} -- if in_days
GROUP BY length, first_quarter
ORDER BY length, first_quarter
