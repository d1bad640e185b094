-- Creates our database if it does not exist.
--
-- Parameters: name.
CREATE DATABASE IF NOT EXISTS {name:Identifier}
