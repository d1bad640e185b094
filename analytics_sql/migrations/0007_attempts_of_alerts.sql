-- Attempts at an alert's own notifications name the alert, so that they can be listed and sent again; nil
-- where a webhook is told. Those from before are found by the record they carry, as long as it is there.
ALTER TABLE delivery_attempts ADD COLUMN IF NOT EXISTS alert_id UUID
    DEFAULT if(webhook_id = toUUID('00000000-0000-0000-0000-000000000000'),
               toUUIDOrZero(JSONExtractString(delivery, 'target', 'alertId')),
               toUUID('00000000-0000-0000-0000-000000000000'))
    AFTER webhook_id;
-- Or each list would read the records of older rows. It runs in the background and blocks nothing.
ALTER TABLE delivery_attempts MATERIALIZE COLUMN alert_id SETTINGS mutations_sync = 0;
