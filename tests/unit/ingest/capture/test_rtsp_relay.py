"""A camera's messages are parsed strictly, and forwarded in one format."""

import pytest

from ingest.capture.rtsp_relay import MessageReader

ANSWER = b"RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: 4\r\n\r\nv=0\n"
PACKET = b"$\x00\x00\x05abcde"
REQUEST = b"OPTIONS rtsp://camera/x RTSP/1.0\r\nCSeq: 1\r\n\r\n"


def _forwarded(*pieces: bytes) -> bytes:
    reader = MessageReader()
    return b"".join(message.encoded() for piece in pieces for message in reader.add(piece))


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_messages_and_packets_are_forwarded_however_they_come(size: int) -> None:
    said = ANSWER + PACKET + PACKET + ANSWER + REQUEST

    assert _forwarded(*(said[at : at + size] for at in range(0, len(said), size))) == said


def test_a_response_inside_a_body_or_a_packet_is_none() -> None:
    body = b"RTSP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)
    packet = b"$\x00" + len(ANSWER).to_bytes(2, "big") + ANSWER

    assert len(list(MessageReader().add(body + packet))) == 2


def test_a_head_comes_in_one_form() -> None:
    odd = b"\r\n\r\nRTSP/1.0 200 OK\nCSeq :2\n$\x00\x00\x02ab\nno field\nPublic:\tPLAY\n\n"

    assert _forwarded(odd) == b"RTSP/1.0 200 OK\r\nCSeq: 2\r\nPublic: PLAY\r\n\r\n"


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
        _forwarded(said)
