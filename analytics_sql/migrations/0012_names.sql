-- Names of cameras and alerts for people who ask ClickHouse themselves (docs/analytics-sql.md), written by
-- the sink from the topics of the configuration, which hold the latest state of each. Names and places
-- only: no stream addresses, no plates of alerts, no receivers.
--
-- What was deleted is the same row again with `removed` = 1, no name and the highest revision; the views
-- leave it out. Identifiers are never used twice.
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
CREATE VIEW IF NOT EXISTS analysis_cameras
(
    user_id UUID COMMENT 'Owner',
    camera_id UUID COMMENT 'Camera',
    name String COMMENT 'Its name now',
    location String COMMENT 'Where it is, in the words of its owner; may be empty',
    enabled Bool COMMENT 'Whether it is switched on',
    created_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was made; NULL: not known; UTC'
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
    user_id UUID COMMENT 'Owner',
    alert_id UUID COMMENT 'Alert',
    name String COMMENT 'Its name now',
    enabled Bool COMMENT 'Whether it is switched on'
)
AS
SELECT user_id, a.id AS alert_id, name, enabled
FROM alerts AS a FINAL
WHERE a.removed = 0;
