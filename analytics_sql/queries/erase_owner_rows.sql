-- Deletes all rows of an owner from a table, and returns when they are gone.
--
-- Parameters:
--   table    its name
--   user_id  owner
ALTER TABLE {table:Identifier} DELETE
WHERE user_id = {user_id:UUID}
SETTINGS mutations_sync = 2
