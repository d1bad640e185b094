DROP TABLE IF EXISTS delivery_attempts SYNC;
