-- Alert triggers: one row for each time that an alert fired, written by the sink alone.
--
-- A row written twice has the same key and becomes one: at merges, and in reads with FINAL at once.
-- `id` is derived from alert and recognition and begins with `ts`, the recognition's capture time in
-- ms, so that copies lie in the same month. All times UTC, confidence 0 to 1, `plate` normalised.
--
-- Sorted by alert and then by time: counts and last times of an owner's alerts, and the triggers
-- before a moment (a cooldown), are short reads of neighbouring rows.
--
-- Rows stay for good, as an alert counts how often it has fired; `plate`, which is personal data, is
-- emptied when its recognition is past retention (see set_trigger_retention.sql).
CREATE TABLE IF NOT EXISTS alert_triggers
(
    user_id UUID,
    alert_id UUID,
    ts DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    id UUID,
    recognition_id UUID,
    camera_id UUID,
    camera_name LowCardinality(String),
    plate String,
    confidence Float64,
    alert_name LowCardinality(String),
    alert_revision UInt64,
    decided_at DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    is_late Bool,
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(ts)
PRIMARY KEY (user_id, alert_id, ts)
ORDER BY (user_id, alert_id, ts, id)
SETTINGS index_granularity = 1024;
