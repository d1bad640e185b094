DROP VIEW IF EXISTS analysis_recognitions;
ALTER TABLE recognitions DROP COLUMN IF EXISTS direction;
ALTER TABLE recognitions DROP COLUMN IF EXISTS region_confidence;
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
