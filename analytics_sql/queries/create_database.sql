-- Makes our database; harmless if it is there.
--
-- Parameters: name.
CREATE DATABASE IF NOT EXISTS {name:Identifier}
