"""The network as plugins may use it: only public addresses, and exactly the address that was checked.

A plugin's URL may come from a stranger, and a name may resolve to another address each time it is asked (DNS
rebinding). So the check sits where the connection is made: a name is resolved once, every address it has is checked,
and the connection goes to a checked address, while TLS still verifies the name. It knows nothing of APIs and calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator

import httpcore2
import httpx2

WIRE_ERRORS = (
    *(httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError),
    *(httpcore2.ProxyError, httpcore2.UnsupportedProtocol),
)
NAT64 = ipaddress.ip_network("64:ff9b::/96")
KEEPALIVE_SECONDS = 15.0
MAX_BODY = 64 * 2**20  # bytes of one response, whatever its reader allows
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(httpx2.TransportError):
    """The host has an address that this plugin may not reach."""


def is_public(text: str) -> bool:
    """Whether an address is on the public internet, also when it is wrapped in IPv6."""
    return all(address.is_global and not address.is_multicast for address in _meanings(ipaddress.ip_address(text)))


def _meanings(address: Address) -> list[Address]:
    """The address and the IPv4 addresses that it stands for in one of the transition schemes."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address, address.sixtofour]
    if address in NAT64:
        return [address, ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
    return [address]


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to public addresses, and to any address of the hosts in `private_hosts` (compared in lower case)."""

    def __init__(self, private_hosts: Iterable[str] = ()) -> None:
        self._private_hosts = frozenset(host.lower() for host in private_hosts)
        self._backend = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address of `host` that answers; AddressRefused when any of them is not allowed."""
        addresses = await resolve(host, port)
        if host.lower() not in self._private_hosts:
            for address in addresses:
                if not is_public(address):
                    raise AddressRefused(f"{host} is at {address}, which is not a public address")
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Always refused: no URL of ours names a socket file."""
        raise AddressRefused("socket files are not reachable")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


async def resolve(host: str, port: int) -> list[str]:
    """The distinct addresses of a host, in the resolver's order; httpcore2.ConnectError when it has none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore2.ConnectError(f"{host} cannot be resolved: {error}") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@contextlib.contextmanager
def _errors_of_httpx2() -> Iterator[None]:
    """httpx2 has an exception of the same name for each of httpcore2's."""
    try:
        yield
    except WIRE_ERRORS as error:
        mapped: type[httpx2.TransportError] = getattr(httpx2, type(error).__name__)
        raise mapped(str(error)) from error


class GuardedTransport(httpx2.AsyncBaseTransport):
    """An httpx2 transport over a connection pool that uses the guarded backend."""

    def __init__(self, private_hosts: Iterable[str] = (), max_connections: int = 32) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(),
            max_connections=max_connections,
            keepalive_expiry=KEEPALIVE_SECONDS,
            network_backend=GuardedBackend(private_hosts),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; the response's body is still to be streamed."""
        url = request.url
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        content = request.stream if isinstance(request.stream, AsyncIterable) else None
        wire_request = httpcore2.Request(
            request.method, target, headers=request.headers.raw, content=content, extensions=request.extensions
        )
        with _errors_of_httpx2():
            response = await self._pool.handle_async_request(wire_request)
        return httpx2.Response(
            response.status, headers=response.headers, stream=_Body(response), extensions=response.extensions
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        with _errors_of_httpx2():
            async for part in self._response.aiter_stream():
                size += len(part)
                if size > MAX_BODY:
                    raise httpx2.ReadError(f"a response of more than {MAX_BODY} bytes")
                yield part

    async def aclose(self) -> None:
        await self._response.aclose()
