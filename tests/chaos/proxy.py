"""A TCP proxy on the loopback interface that simulates network failures."""

import contextlib
import selectors
import socket
import threading


class CuttingProxy:
    """Listens on a free port and forwards to `target`, an address or the path of a Unix socket.
    While cut, it closes all connections and accepts none.

    With `silent`, as with a cut cable, connections stay open but no data is forwarded, until `heal`
    closes them.
    """

    def __init__(self, target: tuple[str, int] | str) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._cut = self._silent = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._closing = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def cut(self, silent: bool = False) -> None:
        with self._lock:
            self._cut, self._silent = True, silent
            if not silent:
                self._drop_all()

    def heal(self) -> None:
        with self._lock:
            self._cut = self._silent = False
            self._drop_all()

    def close(self) -> None:
        self._closing = True
        self._thread.join()
        with self._lock:
            self._drop_all()
        self._listener.close()

    def _drop_all(self) -> None:
        for end in list(self._pairs):
            self._drop(end)

    def _drop(self, end: socket.socket) -> None:
        for each in (end, self._pairs.get(end)):
            if each is None or each not in self._pairs:
                continue
            del self._pairs[each]
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(each)
            each.close()

    def _run(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(timeout=0.05):
                with self._lock:
                    end = key.fileobj
                    if end is self._listener:
                        self._accept()
                    elif isinstance(end, socket.socket) and end in self._pairs:
                        self._forward(end)

    def _connect(self) -> socket.socket:
        if not isinstance(self._target, str):
            return socket.create_connection(self._target, timeout=1)
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._target)
        except OSError:
            server.close()
            raise
        return server

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        if self._cut:
            client.close()
            return
        try:
            server = self._connect()
        except OSError:
            client.close()
            return
        for end, peer in ((client, server), (server, client)):
            end.settimeout(5)
            self._pairs[end] = peer
            self._selector.register(end, selectors.EVENT_READ)

    def _forward(self, end: socket.socket) -> None:
        try:
            data = end.recv(1 << 16)
            if data and self._silent:
                return
            if data:
                self._pairs[end].sendall(data)
                return
        except OSError:
            pass
        self._drop(end)
