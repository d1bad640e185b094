"""The embedded ClickHouse server: the engine as a library (chDB) with a small HTTP server.

The server supports clickhouse-connect, JDBC and the npm client, but neither sessions nor external
data. Only the service and a read-only analyst are users. Production needs a real server.
"""
