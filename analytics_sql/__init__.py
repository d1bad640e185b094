"""What ClickHouse holds: its schema, one file a query, and typed access to both."""
