-- Empties the plates of triggers once their recognitions are past so many days; the rows stay.
--
-- Parameters: days.
ALTER TABLE alert_triggers MODIFY COLUMN plate TTL ts + toIntervalDay({days:UInt32})
