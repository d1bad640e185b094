"""PostgreSQL: tables, migrations and transactions. Opened by the api room only."""
