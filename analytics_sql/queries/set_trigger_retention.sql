-- Clears the plates of triggers when their recognitions have expired after this many days. The rows remain.
--
-- Parameters: days.
ALTER TABLE alert_triggers MODIFY COLUMN plate TTL ts + toIntervalDay({days:UInt32})
