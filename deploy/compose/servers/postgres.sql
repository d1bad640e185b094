-- The service's role, which owns only its database. Runs when the data folder is created; run it again
-- before a restore, after dropping the database (docs/backup.md).
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
