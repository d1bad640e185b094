-- Question: is an owner's plate among those that are looked for by their pieces?
--
-- Parameters: user_id (owner), plate (normalised).
-- Result: rows; one row.
-- Sort key: (user_id, piece); the pieces with the mark of the beginning name each plate once.
SELECT count() AS rows
FROM plate_pieces
WHERE user_id = {user_id:UUID}
  AND startsWith(piece, '^')
  AND plate = {plate:String}
