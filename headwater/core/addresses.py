"""Network addresses: which of them only this machine, or only this network, can reach.

    loopback(host)     whether a listener is for this machine itself
    within(address)    what makes an address one of the operator's own network

Addresses that stand for others (IPv4 within IPv6, in all the ways there are) are what they stand for.
Not here: resolving names, which is done by whoever connects (sources/external.py).
"""

from __future__ import annotations

import ipaddress
from typing import Final

_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
_TRANSLATED: Final = ipaddress.ip_network("64:ff9b::/96")  # IPv4 by NAT64
_SHARED: Final = ipaddress.ip_network("100.64.0.0/10")  # between a provider and its customers


def loopback(host: str) -> bool:
    """Whether a listener at this host can be reached by this machine only."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def within(address: str) -> str | None:
    """What keeps an address from being one of the open network, as an adjective; None if it is one."""
    try:
        ip = _inner(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return "unreadable"
    if ip.is_loopback:
        return "loopback"
    if ip.is_link_local:
        return "link-local"
    if ip.is_multicast:
        return "multicast"
    if ip.is_private or ip.is_reserved or ip.is_unspecified or not ip.is_global or ip in _SHARED:
        return "private"
    return None


def _inner(ip: _Ip) -> _Ip:
    """The IPv4 address that an IPv6 address stands for, in any of the ways there are."""
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return ip.ipv4_mapped
        if ip.sixtofour is not None:
            return ip.sixtofour
        if ip.teredo is not None:
            return ip.teredo[1]
        if ip in _TRANSLATED or (int(ip) >> 32 == 0 and int(ip) > 1):
            return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip
