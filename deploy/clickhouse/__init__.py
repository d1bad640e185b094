"""The embedded ClickHouse: the real engine as a library (chDB) behind a small HTTP server.

It serves what clickhouse-connect, JDBC and npm's client need. Production uses a real server. There
are no sessions, no external data, and no users but the service and one read-only analyst.
"""
