ALTER TABLE delivery_attempts DROP COLUMN IF EXISTS alert_id;
