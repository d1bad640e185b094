"""The embedded ClickHouse: the engine as a library (chDB) with a small HTTP server.

It supports clickhouse-connect, JDBC and the npm client. Production uses a real server. Sessions and
external data are not supported. The only users are the service and one read-only analyst.
"""
