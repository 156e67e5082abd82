#!/usr/bin/env -S python3 -B
"""Tests the proxy into tasks: HTTP, websockets and TCP of commands and trials."""
import base64
import http.client
import json
import os
import socket
import ssl
import struct
import urllib.error
import urllib.request

import harness

# Answers GET with what it got, streams /events, and echoes bytes on the next port.
PROGRAM = """
import http.server, json, socket, sys, threading, time
port = int(sys.argv[1])
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = json.dumps({"path": self.path, "headers": dict(self.headers)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "own=1; Path=/")
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
def echo(connection):
    while piece := connection.recv(65536):
        connection.sendall(piece)
    connection.close()
def serve():
    listener = socket.create_server(("127.0.0.1", port + 1))
    while True:
        threading.Thread(target=echo, args=(listener.accept()[0],), daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
print("listening", flush=True)
server.serve_forever()
"""


class Websocket:
    """A client that sends and receives binary frames."""

    def __init__(self, port, path, headers=(), tls=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=harness.TIMEOUT)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", "Host: m", "Connection: Upgrade", "Upgrade: websocket",
                 "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", *headers, "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        while self.file.readline().strip():
            pass

    def send(self, payload, opcode=2):
        head = bytes([0x80 | opcode])
        if len(payload) < 126:
            head += bytes([0x80 | len(payload)])
        elif len(payload) < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", len(payload))
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", len(payload))
        self.socket.sendall(head + bytes(4) + payload)  # The mask is zero.

    def receive(self):
        """Returns the opcode and the payload of the next frame."""
        first, second = self.file.read(2)
        size = second & 127
        if size == 126:
            size = struct.unpack(">H", self.file.read(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.file.read(8))[0]
        return first & 15, self.file.read(size)

    def close(self):
        self.file.close()
        self.socket.close()


class ProxyTestCase(harness.ClusterTestCase):
    slots = 4
    tls = None

    def token(self):
        return self.home.det("dev", "auth-token").stdout.strip()

    def get(self, path, headers=None, data=None):
        scheme = "https" if self.tls else "http"
        request = urllib.request.Request(f"{scheme}://localhost:{self.home.port}{path}", data=data,
                                         headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=harness.TIMEOUT,
                                        context=self.tls) as response:
                return response.status, response.read(), response.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read(), error.headers

    def bearer(self):
        return {"Authorization": f"Bearer {self.token()}"}

    def await_service(self, service):
        def poll():
            return self.get(f"/proxy/{service}/", self.bearer())[0] == 200
        harness.eventually(poll, f"an answer of {service}")

    def start_command(self):
        """Starts the program in a command; returns the task's ID and the port."""
        port = harness.free_port()
        context = self.home.context({"program.py": PROGRAM})
        ports = [{"proxy_port": port}, {"proxy_port": port + 1, "proxy_tcp": True}]
        config = self.home.write("command.yaml", {"environment": {"proxy_ports": ports}})
        task = self.home.det("command", "run", "--detach", "--context", context, "--config-file",
                             config, f"exec python3 program.py {port}").stdout.strip()
        self.await_service(f"{task}:{port}")
        return task, port

    def check_echo(self, task, port):
        """Sends bytes through the TCP service and expects them back."""
        tunnel = Websocket(self.home.port, f"/proxy/{task}:{port}/",
                           [f"Authorization: {self.bearer()['Authorization']}"], self.tls)
        self.assertEqual(101, tunnel.status)
        sent = os.urandom(100_000)
        tunnel.send(sent)
        received = b""
        while len(received) < len(sent):
            opcode, payload = tunnel.receive()
            self.assertEqual(2, opcode)
            received += payload
        self.assertEqual(sent, received)
        return tunnel


class ProxyTest(ProxyTestCase):
    def test_command_is_reached_by_http_and_tcp_until_it_ends(self):
        task, port = self.start_command()
        service = f"/proxy/{task}:{port}"
        status, body, headers = self.get(service + "/a%20b?x=1",
                                         {**self.bearer(), "Cookie": "det_session=s; theme=dark"})
        self.assertEqual(200, status)
        seen = json.loads(body)
        self.assertEqual(service + "/a%20b?x=1", seen["path"])
        self.assertNotIn("Authorization", seen["headers"])
        self.assertEqual("theme=dark", seen["headers"]["Cookie"])
        self.assertEqual(f"own=1; Path={service}/", headers["Set-Cookie"])
        large = os.urandom(5 << 20)
        self.assertEqual((200, large), self.get(service + "/", self.bearer(), large)[:2])

        self.check_echo(task, port + 1).close()

        self.assertEqual(400, self.get(f"/proxy/{task}:{port + 1}/", self.bearer())[0])
        self.assertEqual(401, self.get(service + "/")[0])
        self.assertEqual(401, self.get(service + "/", {"Authorization": "Bearer wrong"})[0])
        self.assertEqual(404, self.get("/proxy/unknown/", self.bearer())[0])
        self.assertEqual(404, self.get(f"/proxy/{task}:1/", self.bearer())[0])
        _, body, _ = self.get("/api/v1/tasks", self.bearer())
        summaries = json.loads(body)["allocationIdToSummary"].values()
        ports = [each["proxyPorts"] for each in summaries if each["taskId"] == task]
        self.assertEqual([[
            {"serviceId": f"{task}:{port}", "port": port, "proxyTcp": False,
             "unauthenticated": False},
            {"serviceId": f"{task}:{port + 1}", "port": port + 1, "proxyTcp": True,
             "unauthenticated": False}]], ports)

        self.home.det("command", "kill", task)
        harness.eventually(lambda: self.get(service + "/", self.bearer())[0] == 410,
                           "the end of the task")

    def test_command_is_reached_again_after_a_restart_of_the_master(self):
        task, port = self.start_command()
        self.home.kill("master")
        self.home.up(self.agents, self.slots)
        self.await_service(f"{task}:{port}")
        self.home.det("command", "kill", task)

    def test_trial_without_slots_is_reached(self):
        port = harness.free_port()
        context = self.home.context({"program.py": PROGRAM})
        experiment = self.home.create(harness.job(
            entrypoint=f"exec python3 program.py {port}", resources={"slots_per_trial": 0},
            environment={"proxy_ports": [{"proxy_port": port}]}), context)
        trial = self.home.first_trial(experiment)["id"]
        service = f"{experiment}.{trial}:{port}"
        self.await_service(service)
        self.assertEqual(401, self.get(f"/proxy/{service}/")[0])
        self.home.det("experiment", "kill", experiment)

    def test_keeps_the_connection_of_the_client(self):
        task, port = self.start_command()
        connection = http.client.HTTPConnection("127.0.0.1", self.home.port,
                                                timeout=harness.TIMEOUT)
        for _ in range(50):
            connection.request("GET", f"/proxy/{task}:{port}/", headers=self.bearer())
            response = connection.getresponse()
            self.assertEqual(200, response.status)
            response.read()
        connection.close()
        self.home.det("command", "kill", task)


class TlsProxyTest(ProxyTestCase):
    options = ("--tls",)
    tls = ssl._create_unverified_context()  # pylint: disable=protected-access

    def test_command_is_reached_until_it_ends(self):
        task, port = self.start_command()
        large = os.urandom(5 << 20)
        self.assertEqual((200, large),
                         self.get(f"/proxy/{task}:{port}/", self.bearer(), large)[:2])
        _, body, _ = self.get(f"/proxy/{task}:{port}/", self.bearer())
        self.assertEqual("https", json.loads(body)["headers"]["X-Forwarded-Proto"])
        tunnel = self.check_echo(task, port + 1)
        self.home.det("command", "kill", task)
        self.assertEqual((8, struct.pack(">H", 1000)), tunnel.receive())
        tunnel.close()


if __name__ == "__main__":
    harness.main()
