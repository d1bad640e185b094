-- The tables that hold rows of their own, with the columns that are written.
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
