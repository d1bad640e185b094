"""The helpers for webhook receivers, and the examples that use them."""

import importlib.util
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from platestream_client.receiver import EventError, Seen, SignatureError, parse, verify

from streams.webhooks.delivery.signing import signature_headers
from tests.languages import is_present

CLIENTS = Path(__file__).resolve().parents[3] / "clients"
VECTORS = json.loads((CLIENTS / "signatures.json").read_text(encoding="utf-8"))
BODY = VECTORS["body"].encode()
SECRETS = ["whsec_dGhlIHNlY3JldCBvZiB0aGUgdGVzdHM=", "one's own", "whsec_not base64", "whsec_"]


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: str(case["what"]))
def test_true_signatures_are_distinguished_from_false_ones(case: dict[str, Any]) -> None:
    given = (case["secrets"], case["headers"], BODY)
    tolerance = None if case["anyTime"] else 300.0
    if case["isGenuine"]:
        verify(*given, tolerance=tolerance, now=case["now"])
    else:
        with pytest.raises(SignatureError):
            verify(*given, tolerance=tolerance, now=case["now"])


@pytest.mark.parametrize("secret", SECRETS)
def test_what_the_service_signs_is_genuine(secret: str) -> None:
    signed = signature_headers(
        BODY, message_id="m", timestamp_seconds=int(time.time()), secrets=["the next", secret]
    )

    verify(secret, signed, BODY)
    with pytest.raises(SignatureError):
        verify(secret, signed, BODY + b" ")


@pytest.mark.parametrize("secret", ["", [], ["a", ""]])
def test_an_empty_secret_is_a_mistake_of_the_receiver(secret: str | list[str]) -> None:
    with pytest.raises(ValueError, match="empty"):
        verify(secret, {}, BODY)


def test_an_event_is_parsed_by_its_name() -> None:
    event = parse(BODY)

    assert event["event"] == "recognition.created"
    assert event["data"]["recognition"]["plate"] == "AB12CDE"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"id": "1"}', b"\xff"])
def test_what_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(EventError):
        parse(body)


def test_an_event_is_done_once_unless_it_failed() -> None:
    seen = Seen()
    with pytest.raises(RuntimeError), seen.once("1"):
        raise RuntimeError
    with seen.once("1") as first, seen.once("1") as second, seen.once("2") as other:
        assert (first, second, other) == (True, False, True)


def test_ids_are_forgotten_in_time_and_the_oldest_beyond_a_number() -> None:
    short, small = Seen(seconds=0), Seen(at_most=1)
    for seen, ids in ((short, "11"), (small, "121")):
        for id in ids:
            with seen.once(id) as is_new:
                assert is_new


def _signed(secret: str, body: bytes) -> dict[str, str]:
    return signature_headers(
        body, message_id="m", timestamp_seconds=int(time.time()), secrets=[secret]
    )


async def test_the_example_for_fastapi_works(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WEBHOOK_SECRET", SECRETS[0])
    spec = importlib.util.spec_from_file_location(
        "fastapi_receiver", CLIENTS / "examples" / "fastapi_receiver.py"
    )
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    answers = []
    transport = httpx.ASGITransport(example.app)
    with caplog.at_level("INFO"):
        client = httpx.AsyncClient(transport=transport, base_url="http://receiver.example")
        for secret, body in [*[(SECRETS[0], BODY)] * 2, (SECRETS[1], BODY), (SECRETS[0], b"{}")]:
            answer = await client.post("/plates", content=body, headers=_signed(secret, body))
            answers.append(answer.status_code)

    assert answers == [204, 204, 401, 400]
    assert caplog.text.count("AB12CDE was read") == 1


@pytest.mark.skipif(not is_present("php"), reason="no php")
def test_the_example_for_php_verifies(tmp_path: Path) -> None:
    script = (
        f"require '{CLIENTS / 'examples' / 'receiver.php'}';"
        "exit(verify(...json_decode(file_get_contents('case.json'), true)) ? 0 : 1);"
    )
    for case in VECTORS["cases"]:
        # The example uses a single secret, and always reads the current time.
        if len(case["secrets"]) > 1 or case["anyTime"]:
            continue
        headers = {name.lower(): value for name, value in case["headers"].items()}
        given = [case["secrets"][0], headers, VECTORS["body"], case["now"]]
        (tmp_path / "case.json").write_text(json.dumps(given))
        done = subprocess.run(["php", "-r", script], cwd=tmp_path, timeout=60)
        assert done.returncode == (0 if case["isGenuine"] else 1), case["what"]


@pytest.mark.skipif(not is_present("javascript"), reason="no node")
def test_the_typescript_client_does_what_its_own_tests_say() -> None:
    folder = CLIENTS / "typescript"
    files = sorted(str(path) for path in (folder / "test").glob("*.test.js"))
    done = subprocess.run(
        ["node", "--test", *files], cwd=folder, timeout=120, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout
