"""Addresses of the operator's own network are known in every form they have.

Method: lists, from the registries of special addresses and from ways in which one may be written as another.
"""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.addresses import loopback, within


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("::127.0.0.1", "loopback"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("::ffff:192.168.1.1", "private"),
        ("64:ff9b::a00:1", "private"),
        ("100.64.0.1", "private"),
        ("0.0.0.0", "private"),
        ("0.1.2.3", "private"),
        ("::", "private"),
        ("fc00::1", "private"),
        ("fd12:3456::1", "private"),
        ("198.18.0.1", "private"),
        ("240.0.0.1", "private"),
        ("255.255.255.255", "private"),
        ("169.254.169.254", "link-local"),
        ("::ffff:169.254.169.254", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("nonsense", "unreadable"),
        ("", "unreadable"),
    ],
)
def test_addresses_within(address: str, what: str) -> None:
    assert within(address) == what


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2001:4860:4860::8888", "64:ff9b::808:808"]
)
def test_addresses_of_the_open_network(address: str) -> None:
    assert within(address) is None


@given(st.ip_addresses(v=4))
def test_an_address_written_as_another_is_what_it_is(ip: ipaddress.IPv4Address) -> None:
    for form in (f"::ffff:{ip}", f"64:ff9b::{ip}"):
        assert within(form) == within(str(ip))


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("127.0.0.2", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("example.com", False),
        ("localhost.example.com", False),
        ("10.0.0.1", False),
    ],
)
def test_listeners_for_this_machine_alone(host: str, own: bool) -> None:
    assert loopback(host) == own
