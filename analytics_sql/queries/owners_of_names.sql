-- Question: which accounts do these cameras, or alerts, belong to?
--
-- Parameters: table (cameras or alerts), ids.
-- Result: id, user_id; unknown and deleted ones are omitted.
-- Sort key: (user_id, id), of which the first is unknown: a few thousand rows are read.
SELECT id, user_id
FROM {table:Identifier}
WHERE id IN {ids:Array(UUID)}
GROUP BY id, user_id
HAVING max(removed) = 0
