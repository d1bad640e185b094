-- Delivery attempts: one row for each try to deliver an event, written by the sink alone.
--
-- A row written twice has the same key and becomes one: at merges, and in reads with FINAL at once.
-- `id` is derived from delivery, round and number; copies lie in the same month, by `occurred` (the
-- event's time). All times UTC. `webhook_id` is nil where an alert notifies by itself; `status` 0 and
-- `error` '' stand for none; `next_attempt` is 1970 where there is none. `requested_ms` tells the
-- rounds of one delivery apart that clients asked for.
--
-- `delivery` is the record itself, with which it can be sent again; it holds plates, which are
-- personal data, and is emptied when recognitions are past retention (see
-- set_attempt_retention.sql). Rows are kept for three months.
CREATE TABLE IF NOT EXISTS delivery_attempts
(
    user_id UUID,
    webhook_id UUID,
    delivery_id UUID,
    requested_ms UInt64,
    id UUID,
    endpoint String,
    event_id UUID,
    event LowCardinality(String),
    cause LowCardinality(String),
    occurred DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    created DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    number UInt16,
    started DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    duration_ms UInt32,
    outcome LowCardinality(String),
    status UInt16,
    error LowCardinality(String),
    next_attempt DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    delivery String CODEC(ZSTD(3)),
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(occurred)
PRIMARY KEY (user_id, webhook_id, occurred)
ORDER BY (user_id, webhook_id, occurred, delivery_id, id)
TTL toDateTime(occurred) + toIntervalMonth(3)
SETTINGS index_granularity = 1024;
