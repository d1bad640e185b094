DROP VIEW IF EXISTS analysis_cameras;
DROP VIEW IF EXISTS analysis_alerts;
DROP TABLE IF EXISTS cameras;
DROP TABLE IF EXISTS alerts;
