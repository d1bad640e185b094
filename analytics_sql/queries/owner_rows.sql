-- Question: how many rows of an account does a table contain?
--
-- Parameters:
--   table    name of the table
--   user_id  account
-- Result: rows; one row.
-- Sort key: (user_id) in all tables. FINAL: a row written twice counts once.
SELECT count() AS rows
FROM {table:Identifier} FINAL
WHERE user_id = {user_id:UUID}
SETTINGS do_not_merge_across_partitions_select_final = 1
