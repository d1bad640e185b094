-- Deletes the record of an applied migration.
--
-- Parameters: version.
ALTER TABLE schema_migrations DELETE WHERE version = {version:UInt32} SETTINGS mutations_sync = 1
