-- Question: how many rows of an owner does a table hold?
--
-- Parameters:
--   table    its name
--   user_id  owner
-- Result: rows; one row.
-- Sort key: (user_id) in all tables. FINAL: a row written twice counts once.
SELECT count() AS rows
FROM {table:Identifier} FINAL
WHERE user_id = {user_id:UUID}
SETTINGS do_not_merge_across_partitions_select_final = 1
