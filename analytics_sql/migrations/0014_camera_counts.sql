-- How far each camera's frames and vehicles came: a row for each minute in which anything was counted,
-- written by the sink alone. What the columns count is said in common/records/counts.py. No plates.
--
-- Of a minute that is written again (a replay) the row with more `records` stays: at merges, and in reads
-- with FINAL at once. An hour is compared with those of the four weeks before; older ones are not asked for.
CREATE TABLE IF NOT EXISTS camera_counts
(
    user_id UUID,
    camera_id UUID,
    minute DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    records UInt32,
    decoded UInt32,
    still UInt32,
    failed UInt32,
    slow UInt32,
    unsent UInt32,
    lost UInt32,
    stale UInt32,
    surplus UInt32,
    refused UInt32,
    read UInt32,
    found UInt32,
    small UInt32,
    unread UInt32,
    outside UInt32,
    readings UInt32,
    reported UInt32,
    repeated UInt32,
    unsure UInt32,
    fragments UInt32
)
ENGINE = ReplacingMergeTree(records)
PARTITION BY toYYYYMM(minute)
ORDER BY (user_id, camera_id, minute)
TTL toDateTime(minute) + INTERVAL 40 DAY DELETE
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1;
