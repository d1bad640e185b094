-- What may stand in a plate instead of its characters: position (from 0), character, chance (0 to 1).
-- Rows from before have none. Read for one recognition at a time.
ALTER TABLE recognitions ADD COLUMN IF NOT EXISTS alternatives Array(Tuple(UInt8, String, Float64)) DEFAULT [] CODEC(ZSTD(3));
