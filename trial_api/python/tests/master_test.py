import contextlib
import http.client
import io
import os
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
from unittest import mock

from det._errors import MasterError, RunIsOver
from det._info import connect_to_master
from det._master import Master
from fake_master import fake_master, refusal


class MasterTest(unittest.TestCase):
    def setUp(self):
        context = fake_master()
        self.master = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def test_tries_the_next_url_when_one_does_not_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            nobody = f"http://127.0.0.1:{server.getsockname()[1]}"
        self.master.answers["/x"] = {"a": 1}
        with Master([nobody, self.master.url], {}) as master:
            self.assertEqual({"a": 1}, master.get("/x"))
            self.assertEqual({"a": 1}, master.get("/x"))

    def test_error_names_the_master_when_the_retry_timeout_ends(self):
        self.master.unavailable = True
        with Master([self.master.url], {}, retry_timeout=0) as master:
            with self.assertRaisesRegex(MasterError, "127.0.0.1.* does not answer: starting"):
                master.get("/x")

    def test_timed_out_poll_counts_from_its_start(self):
        answer = (200, b"{}")
        for outcomes, outage in (
            ([(30, OSError("gone")), (0, answer)], False),
            ([(0, OSError("gone")), (6, OSError("gone")), (0, answer)], True),
        ):
            result, now = iter(outcomes), [100.0]

            def send(*_):
                seconds, outcome = next(result)
                now[0] += seconds
                if isinstance(outcome, OSError):
                    raise outcome
                return outcome

            master = Master(["http://127.0.0.1:1"], {})
            clock = mock.patch("det._master.time.monotonic", lambda: now[0])
            with mock.patch.object(master, "_closing") as closing, clock:
                closing.is_set.return_value = False
                with mock.patch.object(master, "_send", send):
                    with contextlib.redirect_stderr(io.StringIO()) as printed:
                        master.get("/poll")
            self.assertEqual(outage, "does not answer: gone" in printed.getvalue())

    def test_retry_timeout_of_a_task_is_in_whole_seconds(self):
        info = mock.Mock(master_url=self.master.url, masters=[], master_cert_file=None)
        info.master_cert_name = None
        for result, patience in (("0", 0), (" 60 ", 60), ("-1", None)):
            with mock.patch.dict(os.environ, {"DET_MASTER_PATIENCE": result}):
                with connect_to_master(info) as master:
                    self.assertEqual(patience, master.retry_timeout)
        for result in ("0.5", "", "soon", "1_0"):
            with mock.patch.dict(os.environ, {"DET_MASTER_PATIENCE": result}):
                with self.assertRaisesRegex(ValueError, "DET_MASTER_PATIENCE is .* whole seconds"):
                    connect_to_master(info)

    def test_error_contains_the_message_of_the_master(self):
        self.master.answers["/x"] = refusal(404, 5, "there is no x")
        self.master.answers["/over"] = refusal(400, 9, "the allocation has ended")
        with Master([self.master.url], {}) as master:
            with self.assertRaisesRegex(MasterError, "GET /x was refused: there is no x") as result:
                master.get("/x?a=1")
            self.assertEqual(404, result.exception.status)
            with self.assertRaises(MasterError) as result:
                master.get("/over")
            self.assertNotIsInstance(result.exception, RunIsOver)
        with Master([self.master.url], {}, task=True) as master:
            with self.assertRaises(RunIsOver):
                master.get("/over")

    def test_compresses_long_bodies(self):
        with Master([self.master.url], {}) as master:
            master.post("/x", {"a": "b" * 10_000})
        self.assertEqual([{"a": "b" * 10_000}], self.master.bodies("/x"))

    def test_streams_line_by_line(self):
        self.master.answers["/s"] = lambda *_: (200, b'{"result": {"n": 1}}\n\n{"n": 2}\n')
        self.master.answers["/e"] = lambda *_: (200, b'{"error": {"error": "broken"}}\n')
        with Master([self.master.url], {}) as master:
            self.assertEqual([{"n": 1}, {"n": 2}], list(master.lines("/s")))
            with self.assertRaisesRegex(MasterError, "broken"):
                list(master.lines("/e"))

    def test_close_ends_a_call_that_is_connecting(self):
        connecting, go_on = threading.Event(), threading.Event()
        connect = http.client.HTTPConnection.connect

        def slowly(connection):
            connecting.set()
            go_on.wait(30)
            connect(connection)

        master = Master([self.master.url], {})
        ended = []

        def call():
            try:
                master.get("/signals/preemption")  # Answered when there is a preemption.
            except MasterError as error:
                ended.append(error)

        with mock.patch("http.client.HTTPConnection.connect", slowly):
            thread = threading.Thread(target=call)
            thread.start()
            connecting.wait(30)
            master.close()
            go_on.set()
            thread.join(5)
        self.assertEqual(1, len(ended))

    def test_slow_response_is_not_an_outage(self):
        for ends in ("closed", "broken"):
            waiting, go_on = threading.Event(), threading.Event()
            tries = []

            def slowly(_method, _body):
                tries.append(1)
                if len(tries) == 1:
                    waiting.set()
                    go_on.wait(60)
                    hour[0] += 3600
                    if ends == "broken":
                        raise ConnectionError  # The server breaks the connection.
                return 200, b"{}"

            self.master.answers["/slow"] = slowly
            hour = [0]
            printed, result = io.StringIO(), []
            with mock.patch("det._master.time.monotonic", lambda: hour[0]):
                with (
                    Master([self.master.url], {}, retry_timeout=60) as master,
                    contextlib.redirect_stderr(printed),
                ):

                    def ask():
                        try:
                            result.append(master.get("/slow"))
                        except MasterError as error:
                            result.append(str(error))

                    asking = threading.Thread(target=ask)
                    asking.start()
                    self.assertTrue(waiting.wait(60))
                    if ends == "closed":
                        master.close()
                    else:
                        go_on.set()
                    asking.join(60)
                    go_on.set()
            self.assertFalse(asking.is_alive())
            closed = "this connection to the master is closed"
            self.assertEqual([closed if ends == "closed" else {}], result)
            self.assertEqual("", printed.getvalue())

    def test_refuses_invalid_urls(self):
        for url in ("ftp://x", "http://"):
            with self.assertRaisesRegex(ValueError, "not the URL of a master"):
                Master([url], {})

    def test_tls_checks_ca_and_name(self):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
            subprocess.run(
                [
                    "openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "rsa:2048",
                    "-nodes",
                    "-days",
                    "1",
                    "-keyout",
                    key,
                    "-out",
                    cert,
                    "-subj",
                    "/CN=resolute",
                    "-addext",
                    "subjectAltName=DNS:resolute",
                ],
                check=True,
                stderr=subprocess.DEVNULL,
            )
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(cert, key)
            server = self.master.server
            server.socket = context.wrap_socket(server.socket, server_side=True)
            url = self.master.url.replace("http:", "https:")
            self.master.answers["/x"] = {"a": 1}
            with Master([url], {}, cert, "resolute", retry_timeout=0) as master:
                self.assertEqual({"a": 1}, master.get("/x"))
            for wrong in ({"cert_file": cert}, {"cert_name": "resolute"}):
                with Master([url], {}, retry_timeout=0, **wrong) as master:
                    with self.assertRaisesRegex(MasterError, "(?i)certificate"):
                        master.get("/x")
