-- Rollups of an owner's recognitions and outcomes, so that thirty days need not be counted row by row.
--
-- A bucket is a quarter of an hour (`length` 1) or a day, UTC (96), that begins `first_quarter` quarters after
-- 1970: its rows are counted once, each row that was written twice as one, and stored as one row that replaces an
-- older count of the same bucket as a whole. `counted_at` is a moment before counting began. A bucket stands for its
-- rows as long as none of them was written after `counted_at`, less the time an insert may take; what was touched
-- since is counted row by row until it is counted again. An empty quarter has a bucket, too. Kept by the sink.
CREATE TABLE IF NOT EXISTS traffic_buckets
(
    user_id UUID,
    length UInt8,
    first_quarter UInt32,
    counted_at DateTime64(3, 'UTC'),
    recognitions Array(UInt32),
    camera_ids Array(UUID),
    camera_recognitions Array(UInt32),
    camera_newest Array(DateTime64(3, 'UTC')),
    camera_names Array(LowCardinality(String)),
    with_reading UInt32,
    without_reading UInt32
)
ENGINE = ReplacingMergeTree(counted_at)
ORDER BY (user_id, length, first_quarter)
TTL toDateTime(counted_at) + INTERVAL 100 DAY DELETE
SETTINGS index_granularity = 256;
-- How far an owner's buckets go: whatever was written before `as_of` is in them.
CREATE TABLE IF NOT EXISTS traffic_states
(
    user_id UUID,
    as_of DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(as_of)
ORDER BY user_id
TTL toDateTime(as_of) + INTERVAL 100 DAY DELETE;
-- Quarters from which a plate's rows were erased: as if a row of theirs was written at `touched_at`. An erasure
-- notes them ahead, with a moment in the future by which it is through, and again when it is. `plate_hash` as in
-- `erasures`.
CREATE TABLE IF NOT EXISTS traffic_reopened
(
    user_id UUID,
    quarter UInt32,
    plate_hash String,
    touched_at DateTime64(3, 'UTC'),
    noted_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(noted_at)
ORDER BY (user_id, quarter, plate_hash)
TTL toDateTime(noted_at) + INTERVAL 2 DAY DELETE;
-- The plates that an owner's cameras read most often from `since` to `until`, the most frequent first, as it was
-- counted at `counted_at`. No other plate was read more than `others` times.
CREATE TABLE IF NOT EXISTS plate_ranks
(
    user_id UUID,
    counted_at DateTime64(3, 'UTC'),
    since DateTime64(3, 'UTC'),
    until DateTime64(3, 'UTC'),
    others UInt64,
    plates Array(String),
    recognitions Array(UInt64),
    newest Array(DateTime64(3, 'UTC'))
)
ENGINE = ReplacingMergeTree(counted_at)
ORDER BY user_id
TTL toDateTime(counted_at) + INTERVAL 31 DAY DELETE;
ALTER TABLE pass_outcomes ADD INDEX IF NOT EXISTS ingested_range ingested_at TYPE minmax GRANULARITY 16;
ALTER TABLE pass_outcomes MATERIALIZE INDEX ingested_range SETTINGS mutations_sync = 0, alter_sync = 0;
