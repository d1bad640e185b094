-- The service's role, which owns its database and no more. Run when the data folder is made, and
-- again, once the database is dropped, before a restore (docs/backup.md).
\getenv password DATABASE_PASSWORD
SELECT 'CREATE ROLE platestream'
    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'platestream') \gexec
ALTER ROLE platestream LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
    PASSWORD :'password';
CREATE DATABASE platestream OWNER platestream;
REVOKE CONNECT, TEMPORARY ON DATABASE platestream FROM PUBLIC;
REVOKE CONNECT ON DATABASE postgres FROM PUBLIC;
\connect platestream
ALTER SCHEMA public OWNER TO platestream;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
