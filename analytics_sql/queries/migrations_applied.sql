-- Question: which migrations were applied to this database?
--
-- Result: version, name, checksum (SHA-256 of the file, hexadecimal), by version.
-- Sort key: version.
SELECT version, name, checksum
FROM schema_migrations FINAL
ORDER BY version
