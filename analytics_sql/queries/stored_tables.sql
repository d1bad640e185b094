-- Question: which tables hold rows of their own, for a backup?
--
-- Result: name, columns (those that are written, in their order), by name.
-- Sort key: none; the server's own lists of tables and columns.
SELECT t.name, groupArray(c.name) AS columns
FROM system.tables AS t
INNER JOIN
(
    SELECT table, name
    FROM system.columns
    WHERE database = currentDatabase() AND default_kind NOT IN ('MATERIALIZED', 'ALIAS', 'EPHEMERAL')
    ORDER BY table, position
) AS c ON c.table = t.name
WHERE t.database = currentDatabase() AND t.engine LIKE '%MergeTree'
GROUP BY t.name
ORDER BY t.name
