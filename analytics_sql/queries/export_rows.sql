-- Question: which recognitions are in a part of an export?
--
-- Parameters: those of the list (recognitions_page.sql), which replaces PAGE below, and
--   last_ms, last_id  the last row of the part (Unix ms, UTC, and its ID)
--   region_names, region_codes  names of regions, and the codes shown for them, in the same order
--   timezone  IANA name, for localTime in a file for Excel
-- A line that ends in "-- if plain" or "-- if excel" is only for that kind of file. For Excel, text that it would
-- take for a formula, even if it splits cells at another separator, is prefixed with an apostrophe.
-- Result: the fields of a recognition, named as in the API; fields without a value are NULL. Image keys are
-- complete, as derived by common.records.object_keys. A row written twice is returned once.
-- Sort key: as for the list.
WITH
    concat(
        'recognitions/', toString(p.user_id), '/',
        formatDateTime(
            fromUnixTimestamp64Milli(
                toInt64(reinterpretAsUInt64(reverse(substring(UUIDToNum(p.id), 1, 6)))), 'UTC'
            ),
            '%Y/%m/%d'
        ),
        '/', toString(p.id)
    ) AS folder,
    text -> text AS guarded -- if plain
    text -> replaceRegexpAll(text, '(^|[;,|\\t])( *[=+@＝＋－＠\\t\\r\\n-])', '\\1''\\2') AS guarded -- if excel
SELECT
    toString(p.id) AS id,
    toString(p.user_id) AS userId,
    toString(p.camera_id) AS cameraId,
    guarded(toString(p.camera_name)) AS cameraName,
    guarded(p.plate) AS plate,
    p.confidence AS confidence,
    fromUnixTimestamp64Milli(p.captured_ms, 'UTC') AS timestamp,
    formatDateTime(fromUnixTimestamp64Milli(p.captured_ms, 'UTC'), '%F %T', {timezone:String}) AS localTime, -- if excel
    if(p.photo_key = '=', concat(folder, '/photo.jpg'), nullIf(p.photo_key, '')) AS photoUrl,
    if(p.crop_key = '=', concat(folder, '/crop.jpg'), nullIf(p.crop_key, '')) AS cropUrl,
    if(p.box_width = 0, NULL, p.box_x) AS `plateCoordinates.x`,
    if(p.box_width = 0, NULL, p.box_y) AS `plateCoordinates.y`,
    nullIf(p.box_width, 0) AS `plateCoordinates.width`,
    if(p.box_width = 0, NULL, p.box_height) AS `plateCoordinates.height`,
    nullIf(guarded(transform(toString(p.region), {region_names:Array(String)}, {region_codes:Array(String)},
                             toString(p.region))), '') AS `region.code`,
    nullIf(p.region_confidence, 0) AS `region.confidence`,
    guarded(toString(p.plate_type)) AS plateType,
    p.character_confidences AS characterConfidences,
    fromUnixTimestamp64Milli(p.first_seen_ms, 'UTC') AS firstSeenAt,
    fromUnixTimestamp64Milli(p.last_seen_ms, 'UTC') AS lastSeenAt,
    nullIf(p.readings_count, 0) AS readingsCount,
    toString(p.source) AS source,
    nullIf(toString(p.direction), '') AS direction
FROM (PAGE) AS p
WHERE p.captured_ms > {last_ms:Int64}
   OR (p.captured_ms = {last_ms:Int64} AND p.id >= {last_id:UUID})
ORDER BY p.captured_ms DESC, p.id DESC
LIMIT 1 BY p.id
