-- Outcomes: one row for each vehicle pass that ended without an accepted reading, and for each image
-- call whether it found a plate; written by the sink alone. A pass that was accepted has no row here:
-- it is a row of recognitions.
--
-- A row written twice has the same key and becomes one: at merges, and in reads with FINAL at once.
-- `id` is derived from what it tells of and begins with `ts`, the moment of the pass or call in ms
-- (UTC), so that copies lie in the same month. No plates. Only the last 30 days are ever asked for.
CREATE TABLE IF NOT EXISTS pass_outcomes
(
    user_id UUID,
    ts DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    id UUID,
    camera_id UUID,
    source LowCardinality(String),
    accepted Bool,
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(ts)
PRIMARY KEY (user_id, ts)
ORDER BY (user_id, ts, id)
TTL toDateTime(ts) + INTERVAL 100 DAY DELETE
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1;
