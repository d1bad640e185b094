-- Keeps recognitions for so many days. Parts are dropped whole, and a part holds one day.
--
-- Parameters: days.
-- The sum stays a DateTime64: as a DateTime it runs over in 2106, and rows that should be kept for a
-- hundred years would be dropped at once.
ALTER TABLE recognitions MODIFY TTL ts + toIntervalDay({days:UInt32})
