"""Host name look-ups with the resolver of this machine."""

from ipaddress import ip_address

import pytest

from api.adapters.outbound import HostResolver

pytestmark = pytest.mark.integration


async def test_a_known_name_is_resolved_and_an_impossible_one_is_not() -> None:
    resolver = HostResolver()
    known = await resolver.addresses("localhost", 80)
    unknown = await resolver.addresses("receiver.invalid", 80)
    resolver.close()

    assert known
    assert set(known) <= {ip_address("127.0.0.1"), ip_address("::1")}
    assert unknown == ()
