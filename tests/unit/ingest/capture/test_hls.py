"""Segments that an HLS camera has already served are recognised under any name."""

from io import BytesIO

import pytest

from ingest.capture.hls import MediaPlaylist, PlayedSegments, parse_media_playlist

URL = "http://camera.example/live/index.m3u8"


class FakeBody(BytesIO):
    """A response body in chunks of 1,000 bytes."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(1000)


def _playlist(*names: str, sequence: int | None = 0, end: bool = False) -> str:
    number = "" if sequence is None else f"#EXT-X-MEDIA-SEQUENCE:{sequence}\n"
    entries = "".join(f"#EXTINF:2.0,\n{name}\n" for name in names)
    return f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n{number}{entries}" + "#EXT-X-ENDLIST\n" * end


def _content(number: int) -> bytes:
    return b"segment %d" % number * 1000


class Camera:
    """FFmpeg's requests to a camera: a playlist, then its last segment."""

    def __init__(self) -> None:
        self.played = PlayedSegments()

    def connects(self, text: str, content: bytes = b"", url: str = URL) -> bool:
        """Open a connection, and return whether its content was already played."""
        self.played.connect()
        return self.goes_on(text, content, url)

    def goes_on(self, text: str, content: bytes = b"", url: str = URL) -> bool:
        self.played.playlist(url, text)
        last = text.replace("#EXT-X-ENDLIST\n", "").splitlines()[-1]
        self.serves(url.rpartition("/")[0] + "/" + last, content)
        return self.played.is_old

    def serves(self, url: str, data: bytes) -> None:
        body = self.played.segment(url, FakeBody(data))
        while body.read(32_768):
            pass
        body.close()


@pytest.fixture
def camera() -> Camera:
    """A camera whose tenth segment has been played."""
    camera = Camera()
    assert not camera.connects(_playlist("8.ts", "9.ts", "10.ts", sequence=8), _content(10))
    return camera


def test_a_media_playlist_says_the_number_of_its_last_segment_and_what_is_none() -> None:
    named = '#EXT-X-MAP:URI="/init.mp4"\n#EXT-X-KEY:METHOD=AES-128,URI="key?x=1"\n'
    text = _playlist("a.ts", "/b.ts?x=1", sequence=7) + named

    assert parse_media_playlist(text, URL) == MediaPlaylist(
        last_sequence=8,
        other_urls=frozenset(
            {"http://camera.example/init.mp4", "http://camera.example/live/key?x=1"}
        ),
        is_finished=False,
    )


def test_of_a_long_playlist_only_the_end_is_looked_at() -> None:
    maps = "".join(f'#EXT-X-MAP:URI="{n}.mp4"\n' for n in range(5000))
    playlist = parse_media_playlist(_playlist("a.ts") + maps, URL)

    assert playlist is not None
    assert len(playlist.other_urls) == 256
    assert "http://camera.example/live/4999.mp4" in playlist.other_urls


@pytest.mark.parametrize("number", ["", "x", "-1", "9" * 5000])
def test_a_playlist_without_a_number_begins_with_0(number: str) -> None:
    text = _playlist("a.ts", sequence=None) + f"#EXT-X-MEDIA-SEQUENCE:{number}\n"

    playlist = parse_media_playlist(text, URL)

    assert playlist is not None
    assert playlist.last_sequence == 0


def test_a_playlist_of_playlists_has_no_segments() -> None:
    assert parse_media_playlist("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\n", URL) is None


def test_a_stalled_camera_brings_nothing_new_however_often_it_is_asked(camera: Camera) -> None:
    stalled = _playlist("8.ts", "9.ts", "10.ts", sequence=8)

    assert all(camera.connects(stalled, _content(10)) for _ in range(5))


def test_a_camera_that_went_on_meanwhile_is_new_at_once(camera: Camera) -> None:
    assert not camera.connects(_playlist("9.ts", "10.ts", "11.ts", sequence=9), _content(11))


def test_a_camera_that_goes_on_while_it_is_watched_is_new_from_there(camera: Camera) -> None:
    camera.connects(_playlist("9.ts", "10.ts", sequence=9), _content(10))

    assert not camera.goes_on(_playlist("10.ts", "11.ts", sequence=10), _content(11))
    assert camera.connects(_playlist("10.ts", "11.ts", sequence=10), _content(11))


def test_names_of_each_connections_own_do_not_make_an_old_segment_new(camera: Camera) -> None:
    assert camera.connects(_playlist("x8.ts", "x9.ts", "x10.ts", sequence=8), _content(10))


def test_an_encoder_that_starts_over_is_new(camera: Camera) -> None:
    assert not camera.connects(_playlist("new0.ts", "new1.ts"), _content(1))


def test_an_encoder_that_starts_over_is_new_even_under_the_same_number(camera: Camera) -> None:
    assert not camera.connects(_playlist("8.ts", "9.ts", "10.ts", sequence=8), _content(99))


def test_a_camera_that_writes_ever_new_content_under_one_number_goes_on() -> None:
    camera = Camera()

    assert not any(camera.connects(_playlist("live.ts"), _content(n)) for n in range(5))


def test_a_segment_in_which_the_connection_broke_is_played_again(camera: Camera) -> None:
    camera.played.connect()
    text = _playlist("9.ts", "10.ts", "11.ts", sequence=9)
    camera.played.playlist(URL, text)
    broken = camera.played.segment("http://camera.example/live/11.ts", FakeBody(_content(11)))
    for _ in range(6):
        assert broken.read(1000)
    broken.close()

    assert not camera.connects(text, _content(11))
    assert camera.connects(text, _content(11))


def test_a_segment_whose_address_is_written_otherwise_is_one_all_the_same() -> None:
    camera = Camera()
    for content, is_old in ((1, False), (1, True), (2, False)):
        camera.played.connect()
        camera.played.playlist(URL, _playlist("a//b/live.ts", sequence=None))
        camera.serves("http://camera.example/live/a//b/live.ts", _content(content))

        assert camera.played.is_old is is_old


def test_the_header_of_a_format_is_no_segment() -> None:
    camera = Camera()
    for number, is_old in ((1, False), (1, True), (2, False)):
        camera.played.connect()
        header = '#EXT-X-MAP:URI="init.mp4"'
        text = _playlist(f"{number}.m4s", sequence=number).replace("#EXTINF", f"{header}\n#EXTINF")
        camera.played.playlist(URL, text)
        camera.serves("http://camera.example/live/init.mp4", b"header %d" % number)

        assert camera.goes_on(text, _content(number)) is is_old


def test_of_a_playlist_of_playlists_all_renditions_are_known() -> None:
    camera = Camera()
    for is_old in (False, True):
        camera.played.connect()
        text = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\nhigh.m3u8\n"
        camera.played.playlist(URL, text)
        for number, name in enumerate(("low", "high")):
            url = f"http://camera.example/live/{name}.m3u8"
            camera.goes_on(_playlist(f"{name}.ts", sequence=4), _content(number), url)

        assert camera.played.is_old is is_old


def test_a_recording_is_played_again_and_again() -> None:
    camera = Camera()

    assert not any(camera.connects(_playlist("1.ts", end=True), _content(1)) for _ in range(3))
    assert not camera.played.is_over


def test_a_camera_that_ended_its_playlist_is_over_until_it_begins_another(camera: Camera) -> None:
    camera.connects(_playlist("9.ts", "10.ts", "11.ts", sequence=9, end=True), _content(11))
    assert camera.played.is_over

    assert not camera.connects(_playlist("1.ts"), _content(1))
    assert not camera.played.is_over


def test_a_segment_that_could_not_be_fetched_was_not_played(camera: Camera) -> None:
    text = _playlist("9.ts", "10.ts", "11.ts", sequence=9)
    camera.played.connect()
    camera.played.playlist(URL, text)

    assert not camera.connects(text, _content(11))
