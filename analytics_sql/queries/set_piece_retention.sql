-- Forgets plates that are looked for by their pieces once all recognitions of them are dropped: so many days, and
-- up to a month longer (set_retention.sql).
--
-- Parameters: days.
ALTER TABLE plate_pieces MODIFY TTL last_day + toIntervalDay({days:UInt32}) + toIntervalMonth(1)
