-- Empties what deliveries carried once recognitions are past so many days; the rows stay.
--
-- Parameters: days.
ALTER TABLE delivery_attempts MODIFY COLUMN delivery TTL occurred + toIntervalDay({days:UInt32})
