-- Run once, when the data folder is made: the service's role, which owns its database and no more.
\getenv password DATABASE_PASSWORD
CREATE ROLE platestream LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
    PASSWORD :'password';
CREATE DATABASE platestream OWNER platestream;
REVOKE CONNECT, TEMPORARY ON DATABASE platestream FROM PUBLIC;
REVOKE CONNECT ON DATABASE postgres FROM PUBLIC;
\connect platestream
ALTER SCHEMA public OWNER TO platestream;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
