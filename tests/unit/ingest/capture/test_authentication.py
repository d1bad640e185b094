"""The examples of RFC 7616, section 3.9.1, and RFC 7617, section 2."""

import pytest

from ingest.capture.authentication import Login, split_login

CNONCE = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
DIGEST = (
    'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm={}, '
    'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", '
    'opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
)
MD5, SHA_256 = DIGEST.format("MD5"), DIGEST.format("SHA-256")
MD5_PROOF = "8ca523f5e9506fed4657c9700eebdbec"
SHA_256_PROOF = "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"


@pytest.mark.parametrize(
    ("challenges", "proof"),
    [
        ([MD5], MD5_PROOF),
        ([SHA_256], SHA_256_PROOF),
        ([MD5, SHA_256, 'Basic realm="x"'], SHA_256_PROOF),
        ([f'Basic realm="x", {SHA_256}, {MD5}'], SHA_256_PROOF),
    ],
)
def test_the_strongest_digest_is_answered(
    monkeypatch: pytest.MonkeyPatch, challenges: list[str], proof: str
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: CNONCE)
    login = Login("Mufasa", "Circle of Life")

    assert login.challenged(challenges)
    assert f'response="{proof}"' in str(login.authorization("GET", "/dir/index.html"))
    assert "nc=00000002" in str(login.authorization("GET", "/dir/index.html"))


def test_basic_and_a_login_in_a_url() -> None:
    url, login = split_login("http://test:123%C2%A3@camera/x?y")

    assert url == "http://camera/x?y"
    assert login.authorization("GET", "/x?y") is None
    assert login.challenged(['Basic realm="foo", charset="UTF-8"'])
    assert login.authorization("GET", "/x?y") == b"Basic dGVzdDoxMjPCow=="


@pytest.mark.parametrize("challenge", ["", "Negotiate", 'Digest nonce="1", algorithm=SHA-1'])
def test_an_unknown_challenge_is_not_answered(challenge: str) -> None:
    assert not Login("user", "password").challenged([challenge])
