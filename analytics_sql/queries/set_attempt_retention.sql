-- Clears the content of deliveries when recognitions have expired after this many days. The rows remain.
--
-- Parameters: days.
ALTER TABLE delivery_attempts MODIFY COLUMN delivery TTL occurred + toIntervalDay({days:UInt32})
