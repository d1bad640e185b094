-- Keeps recognitions for so many days, and up to a month longer: parts are dropped whole, once all
-- their rows are past it, and a part holds up to a month.
--
-- Parameters: days.
-- The sum stays a DateTime64: as a DateTime it runs over in 2106, and rows that should be kept for a
-- hundred years would be dropped at once.
ALTER TABLE recognitions MODIFY TTL ts + toIntervalDay({days:UInt32})
