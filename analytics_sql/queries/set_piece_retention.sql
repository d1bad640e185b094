-- Deletes plates from the search index of pieces after all their recognitions were dropped: after this many days, or
-- up to a month later (set_retention.sql).
--
-- Parameters: days.
ALTER TABLE plate_pieces MODIFY TTL last_day + toIntervalDay({days:UInt32}) + toIntervalMonth(1)
