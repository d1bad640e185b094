"""The embedded ClickHouse server: the engine as a library (chDB) with a small HTTP server.

It works with clickhouse-connect, JDBC and the npm client, but does not support sessions or external
data. Its only users are the service and a read-only analyst. In production, use a real server.
"""
