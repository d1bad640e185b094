-- Keeps recognitions for so many days. Parts are dropped whole, and a part holds one day.
--
-- Parameters: days.
ALTER TABLE recognitions MODIFY TTL toDateTime(ts) + toIntervalDay({days:UInt32})
