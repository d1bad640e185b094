"""The embedded ClickHouse: the real engine as a library (chDB) behind a small HTTP server.

It does what the usual drivers need over HTTP. A production installation sets the address
of a real server instead; one test suite runs against both.

Not served: sessions (``SET`` and temporary tables last for one request), external data,
brotli, users and access rights beyond two users: the
service, and one who may only read.
"""
