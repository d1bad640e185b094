-- Question: is an account's plate in the rank of the most frequent ones?
--
-- Parameters: user_id (account), plate (normalised).
-- Result: rows; one row.
-- Sort key: user_id. Without FINAL, because duplicates must lose the plate, too.
SELECT count() AS rows
FROM plate_ranks
WHERE user_id = {user_id:UUID}
  AND has(plates, {plate:String})
