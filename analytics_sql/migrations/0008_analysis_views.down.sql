DROP VIEW IF EXISTS analysis_recognitions SYNC;
DROP VIEW IF EXISTS analysis_alert_triggers SYNC;
DROP VIEW IF EXISTS analysis_delivery_attempts SYNC;
DROP VIEW IF EXISTS analysis_passes SYNC;
