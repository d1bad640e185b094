-- How far a firing is settled: `final` (it fired when the pass was over), or it fired early (`early`)
-- and was then `confirmed`, `corrected` (another plate, for which the alert fires as well) or
-- `withdrawn`. A row of a firing is written again with what became of it, under the same key: `ts` and
-- `id` stay those of what it fired for first, the later row counts. Of `recognition_id` and what is
-- copied from the recognition, those of an early row are provisional. Withdrawn rows are kept, since
-- they were told, and do not count as firings.
ALTER TABLE alert_triggers ADD COLUMN IF NOT EXISTS phase LowCardinality(String) DEFAULT 'final';
