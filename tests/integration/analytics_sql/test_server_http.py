"""ClickHouse's responses over plain HTTP."""

import socket
from uuid import uuid4

import pytest
from clickhouse_connect.driver.client import Client

from tests.integration.analytics_sql.conftest import Http
from tests.services.clickhouse import ClickHouseAddress
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


class TestHttp:
    def test_ping_and_root_need_no_user(self, clickhouse_address: ClickHouseAddress) -> None:
        with socket.create_connection((clickhouse_address.host, clickhouse_address.port)) as raw:
            raw.sendall(b"GET /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = b"".join(iter(lambda: raw.recv(4096), b""))

        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"Ok.\n")

    @pytest.mark.parametrize(
        ("sql", "status", "code"),
        [
            ("SELEC 1", 400, "62"),
            ("SELECT * FROM nowhere", 404, "60"),
            ("SELECT 1 SETTINGS nothing = 1", 404, "115"),
            ("SELECT sleep(2) SETTINGS max_execution_time = 0.1", 408, "159"),
            ("SELECT throwIf(1)", 500, "395"),
        ],
    )
    def test_an_error_has_its_status_and_code(
        self, http: Http, sql: str, status: int, code: str
    ) -> None:
        answer = http("POST", "/", body=sql)

        assert answer.status == status
        assert answer.headers["X-ClickHouse-Exception-Code"] == code
        assert answer.data.startswith(f"Code: {code}. DB::Exception: ".encode())

    def test_an_unknown_user_is_refused(self, http: Http) -> None:
        answer = http("POST", "/", body="SELECT 1", headers={"X-ClickHouse-User": "nobody"})

        assert answer.status == 403
        assert answer.headers["X-ClickHouse-Exception-Code"] == "516"

    def test_an_answer_has_clickhouses_headers(self, http: Http) -> None:
        answer = http("POST", "/?query_id=abc", body="SELECT 1")

        assert answer.data == b"1\n"
        assert answer.headers["X-ClickHouse-Query-Id"] == "abc"
        assert answer.headers["X-ClickHouse-Format"] == "TabSeparated"
        assert answer.headers["X-ClickHouse-Timezone"]
        assert answer.headers["X-ClickHouse-Server-Display-Name"]

    def test_the_default_format_of_the_address_is_used(self, http: Http) -> None:
        answer = http("POST", "/?default_format=JSONEachRow", body="SELECT 1 AS a")

        assert answer.data == b'{"a":1}\n'
        assert answer.headers["X-ClickHouse-Format"] == "JSONEachRow"

    def test_a_statement_may_begin_in_the_address_and_end_in_the_body(self, http: Http) -> None:
        assert http("POST", "/?query=SELECT", body=" 1 + 1").data == b"2\n"

    def test_get_may_only_read(self, http: Http) -> None:
        answer = http("GET", "/?query=CREATE%20TABLE%20x%20(a%20UInt8)%20ENGINE%20=%20Memory")

        assert answer.headers["X-ClickHouse-Exception-Code"] == "164"
        assert http("GET", "/?query=SELECT%201").data == b"1\n"

    def test_connection_stays_open_after_an_error(self, http: Http) -> None:
        answer = http("POST", "/", body="SELEC 1")

        assert answer.headers.get("Connection", "keep-alive").lower() != "close"

    def test_query_ends_with_its_client(
        self, client: Client, clickhouse_address: ClickHouseAddress
    ) -> None:
        address, mark = clickhouse_address, uuid4().hex
        sql = f"SELECT count(), '{mark}' FROM numbers(100000000000) WHERE sipHash64(number) = 1"
        head = (
            "POST /?cancel_http_readonly_queries_on_client_close=1 HTTP/1.1\r\nHost: x\r\n"
            f"X-ClickHouse-User: {address.user}\r\nX-ClickHouse-Key: {address.password}\r\n"
            f"Content-Length: {len(sql)}\r\n\r\n"
        )

        def running() -> bool:
            count = client.command(
                f"SELECT count() FROM system.processes WHERE query LIKE '%{mark}%'"
                " AND query NOT LIKE '%processes%'"
            )
            return count == 1

        with socket.create_connection((address.host, address.port)) as connection:
            connection.sendall(head.encode() + sql.encode())
            wait_until("it runs", running, 20)

        wait_until("it ended", lambda: not running(), 20)
