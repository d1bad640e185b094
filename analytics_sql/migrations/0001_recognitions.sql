-- Recognitions: one row a vehicle pass, written by the sink alone.
--
-- A row written twice has the same (user_id, ts, id) and becomes one: at merges, and in reads with
-- FINAL at once. `id` begins with `ts` in milliseconds, so both copies lie in the same month.
-- Rows that share a user and a millisecond are ordered by `id` as the engine compares UUIDs.
--
-- `plate` is normalised (contracts.plates.normalise_plate). '' stands for an absent text, a box of
-- width 0 for an absent box; box in pixels of the frame, confidences 0 to 1, all times UTC. In
-- `photo_key` and `crop_key` '=' stands for the key that contracts.object_keys derives from user
-- and id: as long random texts, keys were most of what reading a scattered page cost.
--
-- Months, not days: a search asks the text index of every part, 0.5 ms each. Over 34 days of 1 M
-- rows a search for a rare plate took 52 ms of CPU in day partitions and 20 ms in months.
-- Granules of 1024 rows and small compressed blocks, as reads are pages of some fifty rows, not
-- scans. `by_camera` holds the rows once more, so that one camera of many is found as quickly as all:
-- 1 M rows take 165 instead of 87 MB.
CREATE TABLE IF NOT EXISTS recognitions
(
    user_id UUID,
    id UUID,
    ts DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    camera_id UUID,
    camera_name LowCardinality(String),
    plate String,
    confidence Float64,
    character_confidences Array(Float64),
    region LowCardinality(String),
    plate_type LowCardinality(String),
    source LowCardinality(String),
    first_seen DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    last_seen DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    readings_count UInt32,
    photo_key String,
    crop_key String,
    box_x Float64,
    box_y Float64,
    box_width Float64,
    box_height Float64,
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'),
    INDEX plate_trigrams plate TYPE text(tokenizer = ngrams(3)),
    INDEX confidence_range confidence TYPE minmax GRANULARITY 1,
    PROJECTION by_camera (SELECT * ORDER BY user_id, camera_id, ts, id)
)
ENGINE = ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(ts)
PRIMARY KEY (user_id, ts)
ORDER BY (user_id, ts, id)
SETTINGS
    index_granularity = 1024,
    min_compress_block_size = 16384,
    max_compress_block_size = 65536,
    ttl_only_drop_parts = 1,
    deduplicate_merge_projection_mode = 'rebuild';
