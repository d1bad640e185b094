"""A camera's responses are forwarded in one format, and redirects are never forwarded."""

import pytest

from ingest.capture.rtsp_relay import AnswerReader

ANSWER = b"RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: 4\r\n\r\nv=0\n"
PACKET = b"$\x00\x00\x05abcde"
REDIRECT = b"RTSP/1.0 302 Moved\r\nLocation: rtsp://camera.example/x \r\n\r\n"


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_answers_and_packets_are_handed_on_however_they_come(size: int) -> None:
    said = ANSWER + PACKET + PACKET + ANSWER
    reader = AnswerReader()
    handed_on = b"".join(
        reader.add(said[begin : begin + size]) for begin in range(0, len(said), size)
    )

    assert handed_on == said
    assert reader.redirected_to is None
    assert reader.rest() == b""


@pytest.mark.parametrize("size", [1, 1000])
def test_nothing_of_a_redirect_is_handed_on(size: int) -> None:
    said = ANSWER + REDIRECT + ANSWER
    reader = AnswerReader()
    handed_on = b"".join(
        reader.add(said[begin : begin + size]) for begin in range(0, len(said), size)
    )

    assert handed_on == ANSWER
    assert reader.redirected_to == "rtsp://camera.example/x"


def test_a_redirect_inside_a_body_or_a_packet_is_none() -> None:
    body = b"RTSP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(REDIRECT), REDIRECT)
    packet = b"$\x00" + len(REDIRECT).to_bytes(2, "big") + REDIRECT
    reader = AnswerReader()

    assert reader.add(body + packet + ANSWER) == body + packet + ANSWER
    assert reader.redirected_to is None


def test_a_head_comes_in_one_form() -> None:
    reader = AnswerReader()
    odd = b"\r\n\r\nRTSP/1.0 200 OK\nCSeq :2\n$\x00\x00\x02ab\nno field\nPublic:\tPLAY\n\n"

    assert reader.add(odd) == b"RTSP/1.0 200 OK\r\nCSeq: 2\r\nPublic: PLAY\r\n\r\n"


def test_a_camera_may_ask_something_itself() -> None:
    request = b"OPTIONS rtsp://camera/x RTSP/1.0\r\nCSeq: 1\r\n\r\n"

    assert AnswerReader().add(request) == request


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 302 Found\r\nLocation: rtsp://x/\r\n\r\n",
        b"RTSP/1.0  302 Moved\r\n\r\n",
        b"RTSP/1.0 999 Odd\r\n\r\n",
        b"RTSP/1.0 200 OK\r\nContent-Length: 1e3\r\n\r\n",
        b"RTSP/1.0 200 OK\r\nContent-Length: 9999999\r\n\r\n",
        b"RTSP/1.0 200 OK\r\nContent-Length: 1\r\nContent-length: 2\r\n\r\n",
        b"X" * 70_000,
    ],
)
def test_what_is_no_rtsp_ends_the_connection(said: bytes) -> None:
    with pytest.raises(ValueError, match="RTSP|head|body"):
        AnswerReader().add(said)
