-- Deletes all rows of an account from a table; returns when they are deleted.
--
-- Parameters:
--   table    name of the table
--   user_id  account
ALTER TABLE {table:Identifier} DELETE
WHERE user_id = {user_id:UUID}
SETTINGS mutations_sync = 2
