ALTER TABLE pass_outcomes DROP INDEX IF EXISTS ingested_range SETTINGS mutations_sync = 0, alter_sync = 0;
DROP TABLE IF EXISTS plate_ranks;
DROP TABLE IF EXISTS traffic_reopened;
DROP TABLE IF EXISTS traffic_states;
DROP TABLE IF EXISTS traffic_buckets;
