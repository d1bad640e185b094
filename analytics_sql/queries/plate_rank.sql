-- Question: which plates did an account's cameras read most often, according to the last count?
--
-- Parameters: user_id (account).
-- Result: counted_ms, since_ms, until_ms (Unix ms, UTC), others, plates, recognitions, newest_ms (arrays of equal
-- length), erased: for each plate, whether it was erased around that time or since, so that its count may be
-- zero. One row or none.
-- Sort key: user_id. FINAL: the newest count. An erasure takes at most two hours.
SELECT
    toUnixTimestamp64Milli(counted_at) AS counted_ms,
    toUnixTimestamp64Milli(since) AS since_ms,
    toUnixTimestamp64Milli(until) AS until_ms,
    others,
    plates,
    recognitions,
    arrayMap(at -> toUnixTimestamp64Milli(at), newest) AS newest_ms,
    arrayMap(
        plate -> has(
            (
                SELECT groupArray(plate_hash)
                FROM erasures
                WHERE user_id = {user_id:UUID}
                  AND asked_at > (
                      SELECT max(counted_at) - INTERVAL 2 HOUR FROM plate_ranks WHERE user_id = {user_id:UUID}
                  )
            ),
            lower(hex(SHA256(concat(toString({user_id:UUID}), ' ', plate))))
        ),
        plates
    ) AS erased
FROM plate_ranks FINAL
WHERE user_id = {user_id:UUID}
