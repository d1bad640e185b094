-- Tables of recognitions, triggers and deliveries, and views for analysts (docs/analytics-sql.md).
--
-- The sink writes the rows. A row written twice has the same key: merges and reads with FINAL return one of
-- the copies. IDs start with their time in milliseconds, so copies are in the same monthly partition.
-- All times are UTC, confidences 0 to 1, plates normalised (common.plates.normalise). '', 0, 1970 and the
-- nil UUID mean "no value".

-- Recognitions: one row per vehicle pass, or per plate of a stored image call.
--
-- Boxes are in pixels of the frame. In `photo_key` and `crop_key`, '=' means the key that
-- common.records.object_keys derives from account and ID. Rows with the same user and millisecond are ordered by
-- `id` as the engine compares UUIDs. `alternatives`: position (from 0), character, probability.
--
-- Partitions are months: a search opens every part, and with 1 M rows it was twice as fast as with day
-- partitions. The low merge_selector_base also limits the number of parts. Granules and compressed blocks are
-- small, because most reads are pages of about 50 rows.
--
-- The projections make the cost of a list depend on the page, not on the table: lists by camera or plate
-- read the times of a page from them, and then only those rows. They have no `id`, which does not
-- compress; `id_hash` distinguishes copies of a row from other rows of the same plate and millisecond.
-- Plates have granules of 128 rows, because each is looked up separately. `ingested_range` finds rows by
-- the time when they were written, regardless of their age.
CREATE TABLE IF NOT EXISTS recognitions
(
    user_id UUID,
    id UUID,
    id_hash UInt16 MATERIALIZED toUInt16(cityHash64(id)),
    ts DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    camera_id UUID,
    camera_name LowCardinality(String),
    plate String,
    confidence Float64 CODEC(ZSTD(3)),
    character_confidences Array(Float64) CODEC(ZSTD(3)),
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
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    region_confidence Float64 DEFAULT 0,
    direction LowCardinality(String) DEFAULT '',
    alternatives Array(Tuple(UInt8, String, Float64)) DEFAULT [] CODEC(ZSTD(3)),
    INDEX confidence_range confidence TYPE minmax GRANULARITY 1,
    INDEX ingested_range ingested_at TYPE minmax GRANULARITY 16,
    PROJECTION times_by_camera
        (SELECT user_id, camera_id, ts, plate, confidence ORDER BY user_id, camera_id, ts),
    PROJECTION times_by_plate
        (SELECT user_id, plate, ts, camera_id, confidence, id_hash ORDER BY user_id, plate, ts)
        WITH SETTINGS (index_granularity = 128)
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
    deduplicate_merge_projection_mode = 'rebuild',
    merge_selector_base = 2;

-- Alert triggers. `id` is derived from alert and recognition.
--
-- `phase` is `final` (triggered after the pass), or `early` and later `confirmed`, `corrected` (another
-- plate, which the alert also matches) or `withdrawn`. The row is then written again with the same key.
-- In an early row, `recognition_id` and the columns copied from the recognition are provisional.
-- Withdrawn rows are stored but do not count as triggers.
--
-- Rows do not expire, because an alert counts its triggers. `plate` is emptied when the recognition expires
-- (set_trigger_retention.sql).
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
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'),
    phase LowCardinality(String) DEFAULT 'final'
)
ENGINE = ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(ts)
PRIMARY KEY (user_id, alert_id, ts)
ORDER BY (user_id, alert_id, ts, id)
SETTINGS index_granularity = 1024;

-- Delivery attempts: one row per attempt to deliver an event. Stored for three months.
--
-- `id` is derived from delivery, round and number; `requested_ms` distinguishes the rounds that clients
-- requested. `webhook_id` is nil for an alert's own notifications (`alert_id`); otherwise `alert_id` is nil.
-- `delivery` is the record from which it can be redelivered. It contains plates and is emptied when
-- recognitions expire (set_attempt_retention.sql).
CREATE TABLE IF NOT EXISTS delivery_attempts
(
    user_id UUID,
    webhook_id UUID,
    alert_id UUID,
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

-- Outcomes: one row per pass that ended without an accepted reading, and per image call. Accepted passes
-- are rows of recognitions. No plates. Only the last 30 days are queried.
CREATE TABLE IF NOT EXISTS pass_outcomes
(
    user_id UUID,
    ts DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    id UUID,
    camera_id UUID,
    source LowCardinality(String),
    accepted Bool,
    ingested_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'),
    INDEX ingested_range ingested_at TYPE minmax GRANULARITY 16
)
ENGINE = ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(ts)
PRIMARY KEY (user_id, ts)
ORDER BY (user_id, ts, id)
TTL toDateTime(ts) + INTERVAL 100 DAY DELETE
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1;

-- Erasure requests, so that late or repeated records of an erased plate are not written again.
--
-- `plate_hash` is the SHA-256 (lower-case hexadecimal) of account, a space and the normalised plate; '' means
-- the whole account. Plates can be found by trying all of them, so the hash does not hide them. Rows captured
-- before `before` are erased. Stored for longer than a record can be in transit: seven days on a topic, a
-- day and a half of retries, seven days on the next topic.
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

-- Images of erased recognitions, to be deleted from S3. Keys as in recognitions. After deletion the row is
-- written again with `removed` = 1. Stored as long as erasures: rows that are not erased may share the photo
-- of an image call, and a late copy of such a row still refers to it.
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

-- For each account and pair of neighbouring characters, the plates that contain it, so that a search in the
-- middle of plates reads few of them. Similar characters are folded (common.plates.matching), also for
-- fuzzy searches. `^` and `$` mark start and end; pieces with `^` list each plate once. The table may contain
-- plates that no longer have rows. `last_day` (UTC) is when a plate was last seen.
CREATE TABLE IF NOT EXISTS plate_pieces
(
    user_id UUID,
    piece LowCardinality(String),
    plate String,
    last_day Date
)
ENGINE = ReplacingMergeTree(last_day)
ORDER BY (user_id, piece, plate)
SETTINGS index_granularity = 1024;

CREATE MATERIALIZED VIEW IF NOT EXISTS plate_pieces_of_recognitions TO plate_pieces AS
SELECT user_id, piece, plate, toDate(ts) AS last_day
FROM recognitions
ARRAY JOIN ngrams(concat('^', translate(plate, 'OQDILZSGB', '000112568'), '$'), 2) AS piece;

-- Counts of an account's recognitions and outcomes per quarter of an hour (`length` 1) or day (96), UTC, so
-- that analytics need not read every row. Quarters are numbered from 1970; empty ones have a row too.
--
-- A newer count replaces the whole row. `counted_at` is a time before counting started. A bucket is valid
-- if none of its rows was written after `counted_at` minus the maximum duration of an insert; otherwise its
-- rows are counted by the query until the sink counts them again.
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

-- Progress of an account's buckets: all rows written before `as_of` are counted.
CREATE TABLE IF NOT EXISTS traffic_states
(
    user_id UUID,
    as_of DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(as_of)
ORDER BY user_id
TTL toDateTime(as_of) + INTERVAL 100 DAY DELETE;

-- Quarters from which rows of a plate were erased, as if a row had been written at `touched_at`. An erasure
-- writes them in advance, with a time in the future, and again when it is done. `plate_hash` as in erasures.
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

-- The most frequent plates of an account's cameras from `since` to `until`, most frequent first. No other
-- plate was read more than `others` times.
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

-- Names of cameras and alerts for analysts, from the configuration topics. No stream URLs, plates or
-- recipients. Deleted ones have `removed` = 1, no name and the highest revision; the views omit them.
CREATE TABLE IF NOT EXISTS cameras
(
    id UUID,
    user_id UUID,
    name String,
    location String,
    enabled Bool,
    created DateTime64(3, 'UTC'),
    revision UInt64,
    removed UInt8 DEFAULT 0
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (user_id, id);

CREATE TABLE IF NOT EXISTS alerts
(
    id UUID,
    user_id UUID,
    name String,
    enabled Bool,
    revision UInt64,
    removed UInt8 DEFAULT 0
)
ENGINE = ReplacingMergeTree(revision)
ORDER BY (user_id, id);

-- Frames and vehicles of each camera per minute (common/records/counts.py). No plates. If a minute is
-- written again, the row with more `records` wins. Hours are compared with the four weeks before.
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

-- Views for analysts. They read with FINAL, so each row counts once, and return NULL for no value. Conditions
-- on user_id and ts use the keys of the tables. Months are not merged with each other, because copies of a row
-- are in the same month.
--
-- Image keys are complete here: the folder is the day (UTC) in the first 48 bits of the ID.
CREATE VIEW IF NOT EXISTS analysis_recognitions
(
    user_id UUID COMMENT 'Account',
    ts DateTime64(3, 'UTC') COMMENT 'Capture time of the frame whose reading won; UTC',
    id UUID COMMENT 'Recognition ID, as in the API',
    camera_id Nullable(UUID) COMMENT 'Camera; NULL for an image call',
    camera_name LowCardinality(String) COMMENT 'Camera name at that time; API for an image call',
    plate String COMMENT 'Plate in upper case, without separators',
    confidence Float64 COMMENT 'Mean probability of the characters, 0 to 1',
    character_confidences Array(Float64) COMMENT 'Probability of each character of the plate, 0 to 1',
    region LowCardinality(Nullable(String)) COMMENT 'Likely country or state of the plate; NULL: not known',
    region_confidence Nullable(Float64) COMMENT 'Confidence of the region, 0 to 1; NULL: not known',
    plate_type LowCardinality(String) COMMENT 'Type of the plate: car, two-row or motorcycle',
    source LowCardinality(String) COMMENT 'camera, or api for a stored image call',
    first_seen DateTime64(3, 'UTC') COMMENT 'First frame of the pass; UTC',
    last_seen DateTime64(3, 'UTC') COMMENT 'Last frame of the pass; UTC',
    readings UInt32 COMMENT 'Number of frames of the pass in which the plate was read',
    direction LowCardinality(Nullable(String)) COMMENT 'Direction as seen by the camera: towards, away, left or right; NULL: not clear',
    box_x Nullable(Float64) COMMENT 'Left edge of the plate in pixels of the frame; NULL: no box',
    box_y Nullable(Float64) COMMENT 'Upper edge of the plate in pixels of the frame; NULL: no box',
    box_width Nullable(Float64) COMMENT 'Width of the plate in pixels of the frame; NULL: no box',
    box_height Nullable(Float64) COMMENT 'Height of the plate in pixels of the frame; NULL: no box',
    photo_key Nullable(String) COMMENT 'Key of the photo in the S3 bucket; NULL: not stored',
    crop_key Nullable(String) COMMENT 'Key of the crop in the S3 bucket; NULL: not stored',
    ingested_at DateTime64(3, 'UTC') COMMENT 'Time when the row was written; UTC'
)
AS
WITH
    concat(
        'recognitions/', toString(user_id), '/',
        formatDateTime(
            fromUnixTimestamp64Milli(
                toInt64(reinterpretAsUInt64(reverse(substring(UUIDToNum(id), 1, 6)))), 'UTC'
            ),
            '%Y/%m/%d'
        ),
        '/', toString(id)
    ) AS folder
SELECT
    user_id,
    ts,
    id,
    nullIf(r.camera_id, toUUID('00000000-0000-0000-0000-000000000000')) AS camera_id,
    camera_name,
    plate,
    confidence,
    character_confidences,
    nullIf(r.region, '') AS region,
    nullIf(r.region_confidence, 0) AS region_confidence,
    plate_type,
    source,
    first_seen,
    last_seen,
    readings_count AS readings,
    nullIf(r.direction, '') AS direction,
    if(r.box_width = 0, NULL, r.box_x) AS box_x,
    if(r.box_width = 0, NULL, r.box_y) AS box_y,
    nullIf(r.box_width, 0) AS box_width,
    if(r.box_width = 0, NULL, r.box_height) AS box_height,
    if(r.photo_key = '=', concat(folder, '/photo.jpg'), nullIf(r.photo_key, '')) AS photo_key,
    if(r.crop_key = '=', concat(folder, '/crop.jpg'), nullIf(r.crop_key, '')) AS crop_key,
    ingested_at
FROM recognitions AS r FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE VIEW IF NOT EXISTS analysis_alert_triggers
(
    user_id UUID COMMENT 'Account',
    alert_id UUID COMMENT 'Alert',
    alert_name LowCardinality(String) COMMENT 'Alert name at the time of the trigger',
    alert_revision UInt64 COMMENT 'Revision of the alert that triggered; increases with each change',
    ts DateTime64(3, 'UTC') COMMENT 'Capture time of the reading that first triggered the alert; UTC',
    id UUID COMMENT 'Trigger',
    phase LowCardinality(String) COMMENT 'final (after the pass), early, confirmed, corrected or withdrawn',
    counts Bool COMMENT 'Whether to count the trigger; false: early and withdrawn',
    fired_early Bool COMMENT 'Whether the alert triggered while the vehicle was still in view',
    is_late Bool COMMENT 'Whether the recognition arrived long after its vehicle had passed',
    decided_at DateTime64(3, 'UTC') COMMENT 'Time of the trigger, early or not; UTC',
    recognition_id UUID COMMENT 'Recognition; may not exist for an early or withdrawn trigger',
    camera_id Nullable(UUID) COMMENT 'Camera; NULL for an image call',
    camera_name LowCardinality(String) COMMENT 'Camera name at that time',
    plate Nullable(String) COMMENT 'Plate that triggered the alert; NULL: past retention',
    confidence Float64 COMMENT 'Confidence of the recognition, 0 to 1',
    ingested_at DateTime64(3, 'UTC') COMMENT 'Time when the row was last written; UTC'
)
AS
SELECT
    user_id,
    alert_id,
    alert_name,
    alert_revision,
    ts,
    id,
    phase,
    phase != 'withdrawn' AS counts,
    phase != 'final' AS fired_early,
    is_late,
    decided_at,
    recognition_id,
    nullIf(t.camera_id, toUUID('00000000-0000-0000-0000-000000000000')) AS camera_id,
    camera_name,
    nullIf(t.plate, '') AS plate,
    confidence,
    ingested_at
FROM alert_triggers AS t FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE VIEW IF NOT EXISTS analysis_delivery_attempts
(
    user_id UUID COMMENT 'Account',
    webhook_id Nullable(UUID) COMMENT 'Webhook; NULL for an alert with its own notifications',
    alert_id Nullable(UUID) COMMENT 'Alert with its own notifications; NULL for a webhook',
    channel LowCardinality(String) COMMENT 'http or email',
    ts DateTime64(3, 'UTC') COMMENT 'Time of the event; UTC',
    event LowCardinality(String) COMMENT 'Type of the event, for example recognition.created',
    event_id UUID COMMENT 'Event ID, the same for all receivers',
    delivery_id UUID COMMENT 'Delivery: one event to one receiver',
    cause LowCardinality(String) COMMENT 'event, or on request: test, replay or redelivery',
    created DateTime64(3, 'UTC') COMMENT 'Creation time of the delivery; UTC',
    requested_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the request; NULL: not requested; UTC',
    id UUID COMMENT 'Attempt',
    number UInt16 COMMENT 'Number of the attempt since the request, from 1',
    started DateTime64(3, 'UTC') COMMENT 'Start of the attempt; UTC',
    duration_ms UInt32 COMMENT 'Duration of the attempt in milliseconds',
    outcome LowCardinality(String) COMMENT 'delivered, retrying, dead (failed) or cancelled',
    status Nullable(UInt16) COMMENT 'HTTP status or SMTP reply code; NULL: no response',
    error LowCardinality(Nullable(String)) COMMENT 'Error message; NULL: none',
    next_attempt Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the next attempt; NULL: none; UTC',
    ingested_at DateTime64(3, 'UTC') COMMENT 'Time when the row was written; UTC'
)
AS
SELECT
    user_id,
    nullIf(a.webhook_id, toUUID('00000000-0000-0000-0000-000000000000')) AS webhook_id,
    nullIf(a.alert_id, toUUID('00000000-0000-0000-0000-000000000000')) AS alert_id,
    if(startsWith(endpoint, 'email-'), 'email', 'http') AS channel,
    occurred AS ts,
    event,
    event_id,
    delivery_id,
    cause,
    created,
    if(requested_ms = 0, NULL, fromUnixTimestamp64Milli(toInt64(requested_ms), 'UTC')) AS requested_at,
    id,
    number,
    started,
    duration_ms,
    outcome,
    nullIf(a.status, 0) AS status,
    nullIf(a.error, '') AS error,
    if(a.next_attempt = toDateTime64(0, 3, 'UTC'), NULL, a.next_attempt) AS next_attempt,
    ingested_at
FROM delivery_attempts AS a FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- Accepted passes are recognitions of cameras; all others are in pass_outcomes. An image call is one row,
-- regardless of the number of its stored plates.
CREATE VIEW IF NOT EXISTS analysis_passes
(
    user_id UUID COMMENT 'Account',
    ts DateTime64(3, 'UTC') COMMENT 'Time of the pass or image call; UTC',
    id UUID COMMENT 'Recognition ID of an accepted pass, otherwise a unique ID',
    camera_id Nullable(UUID) COMMENT 'Camera; NULL for an image call',
    source LowCardinality(String) COMMENT 'camera, or api for an image call',
    accepted Bool COMMENT 'Whether there is an accepted reading'
)
AS
SELECT
    user_id,
    ts,
    id,
    nullIf(p.camera_id, toUUID('00000000-0000-0000-0000-000000000000')) AS camera_id,
    source,
    true AS accepted
FROM recognitions AS p FINAL
WHERE p.source = 'camera'
SETTINGS do_not_merge_across_partitions_select_final = 1
UNION ALL
SELECT
    user_id,
    ts,
    id,
    nullIf(p.camera_id, toUUID('00000000-0000-0000-0000-000000000000')) AS camera_id,
    source,
    accepted
FROM pass_outcomes AS p FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

CREATE VIEW IF NOT EXISTS analysis_cameras
(
    user_id UUID COMMENT 'Account',
    camera_id UUID COMMENT 'Camera',
    name String COMMENT 'Current name',
    location String COMMENT 'Location as entered by the account; may be empty',
    enabled Bool COMMENT 'Whether the camera is enabled',
    created_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Creation time; NULL: not known; UTC'
)
AS
SELECT
    user_id,
    c.id AS camera_id,
    name,
    location,
    enabled,
    nullIf(c.created, toDateTime64(0, 3, 'UTC')) AS created_at
FROM cameras AS c FINAL
WHERE c.removed = 0;

CREATE VIEW IF NOT EXISTS analysis_alerts
(
    user_id UUID COMMENT 'Account',
    alert_id UUID COMMENT 'Alert',
    name String COMMENT 'Current name',
    enabled Bool COMMENT 'Whether the alert is enabled'
)
AS
SELECT user_id, a.id AS alert_id, name, enabled
FROM alerts AS a FINAL
WHERE a.removed = 0;
