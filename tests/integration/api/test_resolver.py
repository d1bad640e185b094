"""The machine's own resolver."""

from ipaddress import ip_address

import pytest

from api.outbound import SystemResolver

pytestmark = pytest.mark.integration


async def test_a_name_that_is_known_and_one_that_cannot_be() -> None:
    resolver = SystemResolver()
    known = await resolver.addresses("localhost", 80)
    unknown = await resolver.addresses("receiver.invalid", 80)
    resolver.close()

    assert known
    assert set(known) <= {ip_address("127.0.0.1"), ip_address("::1")}
    assert unknown == ()
