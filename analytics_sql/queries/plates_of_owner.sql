-- Question: which plates are in an account's rows?
--
-- Parameters: user_id.
-- Result: plate (normalised), each once.
-- Sort key: user_id, of both tables; all rows of the account are read.
SELECT DISTINCT plate FROM recognitions WHERE user_id = {user_id:UUID}
UNION DISTINCT
SELECT DISTINCT plate FROM alert_triggers WHERE user_id = {user_id:UUID} AND plate != ''
