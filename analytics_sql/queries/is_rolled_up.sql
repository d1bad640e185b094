-- Question: does an account have any rollups?
--
-- Parameters: user_id (account).
-- Result: 1 (or more) or 0.
-- Sort key: user_id.
SELECT count()
FROM traffic_states
WHERE user_id = {user_id:UUID}
