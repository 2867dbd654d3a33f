"""A server that takes updates and does nothing with them: how fast the clients of the benchmark can send at all.

python -m benchmarks.server_sink PORT
"""

import asyncio
import sys
from typing import Any

import uvloop

ANSWER = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"


class Sink(asyncio.BufferedProtocol):
    """Counts octets, and answers after as many as the head announced."""

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self._transport, self._left, self._buffer = transport, 0, bytearray(1 << 18)

    def get_buffer(self, sizehint: int) -> bytearray:
        """Return where the next octets go: always the same place."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Count."""
        if self._left == 0:  # a head comes in one piece here: the clients send it so, over the loopback
            head, _, _ = bytes(self._buffer[:nbytes]).partition(b"\r\n\r\n")
            self._left = len(head) + 4 + int(head.rpartition(b"Content-Length: ")[2])
        self._left -= nbytes
        if self._left == 0:
            self._transport.write(ANSWER)


async def main() -> None:
    """Serve until killed."""
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", int(sys.argv[1]))
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
