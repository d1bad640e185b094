-- The plates (normalised) that an owner's rows name.
SELECT DISTINCT plate FROM recognitions WHERE user_id = {user_id:UUID}
UNION DISTINCT
SELECT DISTINCT plate FROM alert_triggers WHERE user_id = {user_id:UUID} AND plate != ''
