"""The embedded ClickHouse: the real engine as a library (chDB) behind a small HTTP server.

It serves what clickhouse-connect, JDBC and npm's client need. Production installations use a real
server; one test suite runs against both. There are no sessions, no external data, and no users
other than the service and one read-only analyst.
"""
