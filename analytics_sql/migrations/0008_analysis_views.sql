-- Views for people who ask ClickHouse themselves (docs/analytics-sql.md). They read with FINAL, so that
-- what was written twice, or again, counts once; NULL stands where the tables have '', 0 or the nil UUID
-- for nothing. Conditions on user_id and ts reach the tables' keys. Months are not merged with each
-- other (do_not_merge_across_partitions_select_final): copies of a row lie in one month.
--
-- Keys of images are spelt out as contracts.object_keys derives them: the folder is of the day (UTC) in
-- the first 48 bits of the id.
CREATE VIEW IF NOT EXISTS analysis_recognitions
(
    user_id UUID COMMENT 'Owner',
    ts DateTime64(3, 'UTC') COMMENT 'When the frame was captured whose reading won; UTC',
    id UUID COMMENT 'Recognition, as the API names it',
    camera_id Nullable(UUID) COMMENT 'Camera; NULL for an image call',
    camera_name LowCardinality(String) COMMENT 'Name of the camera at that time; API for an image call',
    plate String COMMENT 'Plate in upper case, without separators',
    confidence Float64 COMMENT '0 to 1: mean of the probabilities of the characters',
    character_confidences Array(Float64) COMMENT '0 to 1, one for each character of the plate',
    region LowCardinality(Nullable(String)) COMMENT 'Country or state of the plate; NULL: not known',
    plate_type LowCardinality(String) COMMENT 'car, two-row or motorcycle: shape of the plate',
    source LowCardinality(String) COMMENT 'camera, or api for an image call that was stored',
    first_seen DateTime64(3, 'UTC') COMMENT 'First frame of the pass; UTC',
    last_seen DateTime64(3, 'UTC') COMMENT 'Last frame of the pass; UTC',
    readings UInt32 COMMENT 'Frames of the pass whose plate was read',
    box_x Nullable(Float64) COMMENT 'Left edge of the plate in pixels of the frame; NULL: no box',
    box_y Nullable(Float64) COMMENT 'Upper edge of the plate in pixels of the frame; NULL: no box',
    box_width Nullable(Float64) COMMENT 'Width of the plate in pixels of the frame; NULL: no box',
    box_height Nullable(Float64) COMMENT 'Height of the plate in pixels of the frame; NULL: no box',
    photo_key Nullable(String) COMMENT 'Key of the frame in the S3 bucket; NULL: none was kept',
    crop_key Nullable(String) COMMENT 'Key of the cut-out plate in the S3 bucket; NULL: none was kept',
    ingested_at DateTime64(3, 'UTC') COMMENT 'When the row was written; UTC'
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
    plate_type,
    source,
    first_seen,
    last_seen,
    readings_count AS readings,
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
    user_id UUID COMMENT 'Owner',
    alert_id UUID COMMENT 'Alert',
    alert_name LowCardinality(String) COMMENT 'Name of the alert when it fired',
    alert_revision UInt64 COMMENT 'Which state of the alert fired: grows with each change',
    ts DateTime64(3, 'UTC') COMMENT 'When the reading was captured that it fired for first; UTC',
    id UUID COMMENT 'Firing',
    phase LowCardinality(String) COMMENT 'final, early, confirmed, corrected or withdrawn',
    counts Bool COMMENT 'false: it fired early and was withdrawn, so that it is no firing',
    fired_early Bool COMMENT 'true: it fired while the vehicle was still in the picture',
    is_late Bool COMMENT 'true: the recognition came long after its vehicle had passed',
    decided_at DateTime64(3, 'UTC') COMMENT 'When it fired, early or not; UTC',
    recognition_id UUID COMMENT 'Recognition; of an early or withdrawn firing there may be none of this id',
    camera_id Nullable(UUID) COMMENT 'Camera; NULL for an image call',
    camera_name LowCardinality(String) COMMENT 'Name of the camera at that time',
    plate Nullable(String) COMMENT 'Plate that it fired for; NULL: past retention',
    confidence Float64 COMMENT '0 to 1: of the recognition',
    ingested_at DateTime64(3, 'UTC') COMMENT 'When the row was written the last time; UTC'
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
    user_id UUID COMMENT 'Owner',
    webhook_id Nullable(UUID) COMMENT 'Webhook; NULL where an alert notifies by itself',
    alert_id Nullable(UUID) COMMENT 'Alert that notifies by itself; NULL where a webhook is told',
    channel LowCardinality(String) COMMENT 'http or email',
    ts DateTime64(3, 'UTC') COMMENT 'When the event happened; UTC',
    event LowCardinality(String) COMMENT 'Name of the event, as recognition.created',
    event_id UUID COMMENT 'Event: the same for all that are told of it',
    delivery_id UUID COMMENT 'Delivery: one event to one receiver',
    cause LowCardinality(String) COMMENT 'event, or what a client asked for: test, replay, redelivery',
    created DateTime64(3, 'UTC') COMMENT 'When the delivery was made; UTC',
    requested_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When a client asked for it; NULL: nobody did; UTC',
    id UUID COMMENT 'Attempt',
    number UInt16 COMMENT 'Which attempt of its round, from 1',
    started DateTime64(3, 'UTC') COMMENT 'When the attempt began; UTC',
    duration_ms UInt32 COMMENT 'How long it took, in milliseconds',
    outcome LowCardinality(String) COMMENT 'delivered, retrying, dead or cancelled',
    status Nullable(UInt16) COMMENT 'Status of HTTP, or the reply code of SMTP; NULL: no answer',
    error LowCardinality(Nullable(String)) COMMENT 'What went wrong, for a person; NULL: nothing',
    next_attempt Nullable(DateTime64(3, 'UTC')) COMMENT 'When it is tried again; NULL: never; UTC',
    ingested_at DateTime64(3, 'UTC') COMMENT 'When the row was written; UTC'
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
-- Passes that ended in an accepted reading are recognitions of cameras and have no row in pass_outcomes.
-- An image call is a row there, however many plates of it were stored.
CREATE VIEW IF NOT EXISTS analysis_passes
(
    user_id UUID COMMENT 'Owner',
    ts DateTime64(3, 'UTC') COMMENT 'When the pass or the image call was; UTC',
    id UUID COMMENT 'Recognition of an accepted pass, else a name of its own',
    camera_id Nullable(UUID) COMMENT 'Camera; NULL for an image call',
    source LowCardinality(String) COMMENT 'camera, or api for an image call',
    accepted Bool COMMENT 'Whether it ended in an accepted reading'
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
