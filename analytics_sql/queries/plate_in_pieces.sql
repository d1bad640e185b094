-- Question: is an account's plate in the search index of pieces?
--
-- Parameters: user_id (account), plate (normalised).
-- Result: rows; one row.
-- Sort key: (user_id, piece); the pieces with the start mark list each plate once.
SELECT count() AS rows
FROM plate_pieces
WHERE user_id = {user_id:UUID}
  AND startsWith(piece, '^')
  AND plate = {plate:String}
