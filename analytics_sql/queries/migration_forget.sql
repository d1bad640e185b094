-- Forgets that a migration was applied.
--
-- Parameters: version.
ALTER TABLE schema_migrations DELETE WHERE version = {version:UInt32} SETTINGS mutations_sync = 1
