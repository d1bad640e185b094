ALTER TABLE recognitions DROP COLUMN IF EXISTS alternatives SETTINGS mutations_sync = 0, alter_sync = 0;
