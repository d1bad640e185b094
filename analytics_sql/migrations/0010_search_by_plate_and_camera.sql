-- Lists whose cost follows the page, not the table: one camera's rows and one plate's rows, newest first.
--
-- Instead of all columns once more by camera (as long as the table itself), two projections hold the columns that
-- a list looks at, without the id: 16 bytes that do not compress. A list asks them for the times of a page, and
-- the table for the rows of these times. `id_hash` tells copies of a row from other rows of the plate, camera and
-- millisecond. Plates are looked up one by one, each in a granule of its own: 128 rows, where 1,024 would read eight
-- times as many. `ingested_range` finds what came in since a moment, however old: rows that came late or again.
ALTER TABLE recognitions MODIFY COLUMN ingested_at CODEC(Delta(8), ZSTD(1));
ALTER TABLE recognitions MODIFY COLUMN character_confidences CODEC(ZSTD(3));
ALTER TABLE recognitions MODIFY COLUMN confidence CODEC(ZSTD(3));
ALTER TABLE recognitions ADD COLUMN IF NOT EXISTS id_hash UInt16 MATERIALIZED toUInt16(cityHash64(id)) AFTER id;
ALTER TABLE recognitions ADD INDEX IF NOT EXISTS ingested_range ingested_at TYPE minmax GRANULARITY 16;
ALTER TABLE recognitions ADD PROJECTION IF NOT EXISTS times_by_camera
    (SELECT user_id, camera_id, ts, plate, confidence ORDER BY user_id, camera_id, ts);
ALTER TABLE recognitions ADD PROJECTION IF NOT EXISTS times_by_plate
    (SELECT user_id, plate, ts, camera_id, confidence, id_hash ORDER BY user_id, plate, ts)
    WITH SETTINGS (index_granularity = 128);
ALTER TABLE recognitions DROP PROJECTION IF EXISTS by_camera SETTINGS mutations_sync = 0, alter_sync = 0;
ALTER TABLE recognitions DROP INDEX IF EXISTS plate_trigrams SETTINGS mutations_sync = 0, alter_sync = 0;
-- For the rows that are there. It runs in the background and blocks nothing; until then they are read as before.
ALTER TABLE recognitions MATERIALIZE COLUMN id_hash SETTINGS mutations_sync = 0, alter_sync = 0;
ALTER TABLE recognitions MATERIALIZE INDEX ingested_range SETTINGS mutations_sync = 0, alter_sync = 0;
ALTER TABLE recognitions MATERIALIZE PROJECTION times_by_camera SETTINGS mutations_sync = 0, alter_sync = 0;
ALTER TABLE recognitions MATERIALIZE PROJECTION times_by_plate SETTINGS mutations_sync = 0, alter_sync = 0;
-- Pieces of plates: for each owner and pair of neighbouring characters the plates that hold it, so that a text in
-- the middle of a plate is looked for among the few plates that can hold it. Look-alikes are folded
-- (common.plates.matching), so that one table serves the fuzzy search too; `^` stands before the first character
-- and `$` behind the last, and the pieces with `^` name each plate once. A plate of which no row is left may still
-- be here, a plate that has one always is; `last_day` (UTC) is when it was last seen.
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
-- Which tables that are made of rows from before them are complete; until then nobody asks them. Where there are
-- no rows yet, this one is.
CREATE TABLE IF NOT EXISTS backfills
(
    name String,
    done_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(done_at)
ORDER BY name;
INSERT INTO backfills (name) SELECT 'plate_pieces' WHERE (SELECT count() FROM recognitions) = 0;
