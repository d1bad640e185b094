-- Question: as recognitions_page.sql, for the rows of one camera or of certain plates, if few rows match.
--
-- Parameters: user_id, from_ms, to_ms, after_ms, after_id, camera_id, plate_pattern, folded_plate,
-- folded_parts, max_edits, look_alikes, stand_ins, min_confidence and limit as there, and
--   pieces        matching plates contain one of these pairs of characters (folded, see plate_pieces)
--   piece_starts  matching plates contain one of these one or two characters (folded); without both, the
--                 condition on the plate is sufficient, or there is none
--   by_camera     if the camera has fewer rows than such plates
-- Result: as there.
-- Sort key: the projections times_by_camera and times_by_plate find the times of the page, the table the rows of
-- these times. Reading in order is disabled, because no projection would be used then. Rows of the cursor's
-- millisecond are read in addition, because some of them were on the previous page.
-- No projection is used as a mere index of the outer rows (optimize_use_projection_filtering), and for one
-- camera's rows only that by camera: finding out that they do not help took several times as long as the rows
-- (this query over 100 M rows: 241 instead of 47 ms for a fuzzy text, 268 instead of 69 for all filters).
SELECT
    id,
    user_id,
    camera_id,
    camera_name,
    plate,
    confidence,
    toUnixTimestamp64Milli(ts) AS captured_ms,
    box_x,
    box_y,
    box_width,
    box_height,
    photo_key,
    crop_key,
    character_confidences,
    toUnixTimestamp64Milli(first_seen) AS first_seen_ms,
    toUnixTimestamp64Milli(last_seen) AS last_seen_ms,
    readings_count,
    region,
    region_confidence,
    plate_type,
    source,
    direction
FROM recognitions
WHERE user_id = {user_id:UUID}
  AND (
    ts = fromUnixTimestamp64Milli({after_ms:Int64}, 'UTC') OR -- if after_ms
    ts IN (
      SELECT ts
      FROM recognitions
      WHERE user_id = {user_id:UUID}
        AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC') -- if from_ms
        AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC') -- if to_ms
        AND ts < fromUnixTimestamp64Milli({after_ms:Int64}, 'UTC') -- if after_ms
        AND camera_id = {camera_id:UUID} -- if camera_id
        AND confidence >= {min_confidence:Float64} -- if min_confidence
        AND plate LIKE {plate_pattern:String} -- if plate_pattern
        AND plate IN ( -- if pieces
            SELECT plate FROM plate_pieces WHERE user_id = {user_id:UUID} -- if pieces
                AND piece IN {pieces:Array(String)} -- if pieces
        AND plate IN ( -- if piece_starts
            SELECT plate FROM plate_pieces WHERE user_id = {user_id:UUID} -- if piece_starts
                AND (startsWith(piece, {piece_starts:Array(String)}[1]) -- if piece_starts
                     OR startsWith(piece, {piece_starts:Array(String)}[-1])) -- if piece_starts
                AND plate LIKE {plate_pattern:String} -- if plate_pattern
                AND multiSearchAny(translate(plate, {look_alikes:String}, {stand_ins:String}), -- if folded_parts
                                   {folded_parts:Array(String)}) -- if folded_parts
                AND abs(toInt64(lengthUTF8(plate)) - toInt64(lengthUTF8({folded_plate:String}))) <= {max_edits:UInt8} -- if folded_plate
                AND editDistanceUTF8( -- if folded_plate
                        concat('.', translate(plate, {look_alikes:String}, {stand_ins:String})), -- if folded_plate
                        concat('.', {folded_plate:String})) <= {max_edits:UInt8} -- if folded_plate
        ) -- if pieces
        ) -- if piece_starts
      ORDER BY ts DESC
      LIMIT {limit:UInt32}
    )
  )
  AND ts <= fromUnixTimestamp64Milli({after_ms:Int64}, 'UTC') -- if after_ms
  AND (ts < fromUnixTimestamp64Milli({after_ms:Int64}, 'UTC') -- if after_ms
       OR id < {after_id:UUID}) -- if after_ms
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC') -- if from_ms
  AND camera_id = {camera_id:UUID} -- if camera_id
  AND plate LIKE {plate_pattern:String} -- if plate_pattern
  AND multiSearchAny(translate(plate, {look_alikes:String}, {stand_ins:String}), -- if folded_parts
                     {folded_parts:Array(String)}) -- if folded_parts
  AND abs(toInt64(lengthUTF8(plate)) - toInt64(lengthUTF8({folded_plate:String}))) <= {max_edits:UInt8} -- if folded_plate
  AND editDistanceUTF8( -- if folded_plate
          concat('.', translate(plate, {look_alikes:String}, {stand_ins:String})), -- if folded_plate
          concat('.', {folded_plate:String})) <= {max_edits:UInt8} -- if folded_plate
  AND confidence >= {min_confidence:Float64} -- if min_confidence
ORDER BY ts DESC, id DESC
LIMIT {limit:UInt32}
SETTINGS optimize_read_in_order = 0, optimize_use_projection_filtering = 0, use_uncompressed_cache = 1
    , preferred_optimize_projection_name = 'times_by_camera' -- if by_camera
