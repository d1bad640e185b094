-- What was erased on request, so that nothing of it is written again: records come twice, or late.
--
-- `plate_hash` is SHA-256 (lower hexadecimal) of owner, a blank and the normalised plate, so that the
-- plate is not kept in plain text; there are few enough plates to try them all, so it is no secret
-- from who can read this table. '' stands for all of the owner. What was captured before `before` is
-- erased (UTC). Kept for longer than any record is on its way: seven days on a topic, a day and a half
-- of retries, seven days on the next topic.
CREATE TABLE IF NOT EXISTS erasures
(
    user_id UUID,
    plate_hash String,
    before DateTime64(3, 'UTC'),
    asked_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(before)
ORDER BY (user_id, plate_hash)
TTL toDateTime(asked_at) + INTERVAL 30 DAY DELETE;
-- Images of erased recognitions, to be removed from S3. Keys as in `recognitions`: '=' stands for the
-- derived one, '' for none. That they were removed is the same row again. Kept as long as `erasures`: an
-- image call's photo is shared by rows that are not erased, and a late copy of one still names it.
CREATE TABLE IF NOT EXISTS erased_images
(
    noted_at DateTime64(3, 'UTC'),
    user_id UUID,
    id UUID,
    photo_key String,
    crop_key String,
    removed UInt8 DEFAULT 0
)
ENGINE = ReplacingMergeTree(removed)
ORDER BY (noted_at, user_id, id)
TTL toDateTime(noted_at) + INTERVAL 30 DAY DELETE WHERE removed = 1;
