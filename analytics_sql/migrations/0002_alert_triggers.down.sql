DROP TABLE IF EXISTS alert_triggers SYNC;
