-- Question: whose are these cameras, or alerts?
--
-- Parameters: table (cameras or alerts), ids.
-- Result: id, user_id; what is not known, or was deleted, is left out.
-- Sort key: (user_id, id), of which the first is what is asked for: a few thousand rows.
SELECT id, user_id
FROM {table:Identifier}
WHERE id IN {ids:Array(UUID)}
GROUP BY id, user_id
HAVING max(removed) = 0
