-- Question: which recognitions of an account in a time range match, newest first?
--
-- A line that ends in "-- if NAME" is only part of the query if that parameter is given: over 1 M rows, unused
-- conditions took a quarter of a page's time (22 against 16 ms).
--
-- Parameters:
--   user_id         account
--   from_ms, to_ms  Unix ms, UTC; from is inclusive, to exclusive
--   after_ms, after_id  the last row of the previous page (Unix ms, UTC, and its ID); both or neither
--   camera_id       camera
--   plate_pattern   LIKE pattern over the normalised plate
--   folded_plate    normalised plate, look-alikes folded, for a fuzzy match
--   folded_parts    parts of folded_plate, one of which every matching plate contains
--   max_edits       maximum number of edits (insert, delete, replace a character) from folded_plate
--   look_alikes, stand_ins  characters, and their replacements in the same order
--   min_confidence  0 to 1, inclusive
--   newest          search only this many rows of the account and range, the newest
--   limit           rows
-- Result: the whole row; times in Unix ms, UTC. A row written twice may be returned twice, next to each other:
-- FINAL would read all columns of every row that is searched (a text of three characters in 1 M rows: 76 ms with
-- it, 42 without).
-- Sort key: (user_id, ts, id), read backwards until the page is full; conditions on narrow columns first, the
-- others only for the rows of the page, and without reading ahead: over 15 parts, a frequent text then takes 30
-- instead of 35 ms. Edits are only counted if a part is found, in plates of about that length: over 1 M plates, 22
-- instead of 354 ms. Both texts are prefixed with a character, because the distance from '' would be in bytes.
-- Scattered rows cost a block of each column, so blocks are cached uncompressed if the server has a cache for
-- them: a text of three characters takes 22 instead of 28 ms.
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
  AND ts >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC') -- if from_ms
  AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC') -- if to_ms
  AND ts <= fromUnixTimestamp64Milli({after_ms:Int64}, 'UTC') -- if after_ms
  AND ts >= ( -- if newest
      SELECT min(ts) FROM ( -- if newest
          SELECT ts FROM recognitions WHERE user_id = {user_id:UUID} -- if newest
              AND ts <= fromUnixTimestamp64Milli({after_ms:Int64}, 'UTC') -- if after_ms
              AND ts < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC') -- if to_ms
          ORDER BY ts DESC LIMIT {newest:UInt32})) -- if newest
  AND (ts < fromUnixTimestamp64Milli({after_ms:Int64}, 'UTC') -- if after_ms
       OR id < {after_id:UUID}) -- if after_ms
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
SETTINGS read_in_order_use_buffering = 0, use_uncompressed_cache = 1
