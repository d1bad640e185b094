-- Notes that a table that is made of older rows is complete.
--
-- Parameters: name (the table's).
INSERT INTO backfills (name) SELECT {name:String}
