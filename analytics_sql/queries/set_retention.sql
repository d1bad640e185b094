-- Retains recognitions for this many days, and up to a month longer: whole parts are dropped when all their rows
-- have expired, and a part contains up to a month.
--
-- Parameters: days.
-- The sum must remain a DateTime64: a DateTime overflows in 2106, and rows to be retained for a hundred years would
-- be dropped immediately.
ALTER TABLE recognitions MODIFY TTL ts + toIntervalDay({days:UInt32})
