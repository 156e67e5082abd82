#!/usr/bin/env -S python3 -B
"""Tests signed webhook deliveries, also by the next master after the first one was killed."""
import hashlib
import hmac
import http.server
import json
import threading

import harness
from harness import eventually, job

KEY = "the key of this test"


class Receiver:
    """An HTTP server on a loopback port that stores the received requests."""

    def __init__(self, port):
        self.received = []
        received = self.received

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.append((dict(self.headers), body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class WebhookTest(harness.ClusterTestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = harness.Home()
        try:
            cls.config = cls.home.write("master.yaml", {"webhooks": {
                "signing_key": KEY, "base_url": "https://det.example.org",
                "allow_networks": ["127.0.0.0/8"]}})
            cls.up()
        except BaseException:
            cls.home.close()
            raise

    @classmethod
    def up(cls):
        cls.home.det("deploy", "local", "up", "--port", cls.home.port, "--agents", 1, "--slots", 1,
                     "--master-config", cls.config)

    def hook(self, name, port):
        created = self.home.json("webhook", "create", name, f"http://127.0.0.1:{port}/{name}",
                              "--state", "COMPLETED")
        return created["webhook"]["id"]

    def deliveries(self, hook):
        return self.home.json("webhook", "deliveries", hook)["deliveries"]

    def check(self, receiver, experiment):
        """Checks that the receiver got one event for the experiment, with a valid signature."""
        def deliveries():
            return [each for each in receiver.received
                    if json.loads(each[1])["event_data"]["experiment"]["id"] == experiment]
        eventually(deliveries, "the delivery")
        (headers, body), = deliveries()
        signed = headers["X-Determined-AI-Signature-Timestamp"].encode()
        expected = hmac.new(KEY.encode(), signed + b"," + body, hashlib.sha256).hexdigest()
        self.assertEqual(expected, headers["X-Determined-AI-Signature"])
        event = json.loads(body)
        self.assertEqual("EXPERIMENT_STATE_CHANGE", event["event_type"])
        self.assertEqual("COMPLETED", event["event_data"]["experiment"]["state"])
        self.assertEqual(f"https://det.example.org/det/experiments/{experiment}", event["link"])

    def test_delivers_a_signed_event_at_the_end_of_an_experiment(self):
        port = harness.free_port()
        receiver = Receiver(port)
        try:
            hook = self.hook("first", port)
            self.home.det("webhook", "test", hook)
            receiver.received.clear()
            experiment = self.home.create(job(entrypoint="true"))
            self.home.finish(experiment)
            self.check(receiver, experiment)
            eventually(lambda: self.deliveries(hook)[0]["state"] == "STATE_DELIVERED", "the state DELIVERED")
        finally:
            receiver.close()
            self.home.det("webhook", "delete", hook)

    def test_next_master_delivers_pending_events(self):
        port = harness.free_port()
        hook = self.hook("second", port)
        experiment = self.home.create(job(entrypoint="true"))
        self.home.finish(experiment)
        eventually(lambda: self.deliveries(hook) and self.deliveries(hook)[0]["attempts"] > 0,
                   "an attempt")
        row = self.deliveries(hook)[0]
        self.assertEqual("STATE_PENDING", row["state"])
        self.home.kill("master")
        receiver = Receiver(port)
        try:
            self.up()
            self.check(receiver, experiment)
        finally:
            receiver.close()
            self.home.det("webhook", "delete", hook)


if __name__ == "__main__":
    harness.main()
