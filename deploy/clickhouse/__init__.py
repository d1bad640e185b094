"""The embedded ClickHouse server: the engine as a library (chDB) with a small HTTP server.

The server works with clickhouse-connect, JDBC and the npm client, but does not support sessions or
external data. Only the service and a read-only analyst are users. Use a real server in production.
"""
