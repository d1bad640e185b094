ALTER TABLE alert_triggers DROP COLUMN IF EXISTS phase;
