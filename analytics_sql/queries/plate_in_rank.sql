-- Question: is an owner's plate in the rank of the most frequent ones?
--
-- Parameters: user_id (owner), plate (normalised).
-- Result: rows; one row.
-- Sort key: user_id. Without FINAL: a copy that names the plate is to lose it as well.
SELECT count() AS rows
FROM plate_ranks
WHERE user_id = {user_id:UUID}
  AND has(plates, {plate:String})
