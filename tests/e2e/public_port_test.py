#!/usr/bin/env -S python3 -B
"""Tests the public port: HTTP and gRPC, request IDs, reflection, OpenAPI document, CORS."""
import gzip
import json
import subprocess
import urllib.error
import urllib.request

import harness


class PublicPortTest(harness.ClusterTestCase):
    def token(self):
        with open(self.home.data + "/admin.token", encoding="utf-8") as f:
            return f.read().strip()

    def fetch(self, path, headers=None, body=None, token=None):
        """(status, headers, body) of the response, including errors."""
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = "Bearer " + token
        request = urllib.request.Request(f"http://127.0.0.1:{self.home.port}{path}", data=body,
                                         headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=harness.TIMEOUT) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def grpc(self, method, message=b"", token=None):
        """(response message, trailing metadata as text) of a unary call."""
        frame = b"\0" + len(message).to_bytes(4, "big") + message
        command = ["curl", "-sS", "--http2-prior-knowledge", "--max-time", str(harness.TIMEOUT),
                   "-H", "content-type: application/grpc", "-H", "te: trailers",
                   "-D", "/dev/stderr", "--data-binary", "@-",
                   f"http://127.0.0.1:{self.home.port}/{method}"]
        if token:
            command[1:1] = ["-H", "authorization: Bearer " + token]
        output = subprocess.run(command, input=frame, capture_output=True, check=True)
        return output.stdout[5:], output.stderr.decode()

    def test_health_needs_no_token(self):
        answer, head = self.grpc("grpc.health.v1.Health/Check")
        self.assertEqual(b"\x08\x01", answer, head)  # SERVING

    def test_reflection_lists_the_services(self):
        answer, head = self.grpc("grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                 b"\x3a\x01*")
        for name in (b"det.api.v1.ExperimentService", b"det.trial.v1.TrialRuntime",
                     b"grpc.health.v1.Health"):
            self.assertIn(name, answer, head)

    def test_grpc_response_has_the_request_id(self):
        _, head = self.grpc("det.api.v1.AuthService/GetMe", token=self.token())
        self.assertIn("grpc-status: 0", head.lower())
        self.assertIn("x-request-id: ", head.lower())

    def test_http_response_has_the_request_id(self):
        _, headers, _ = self.fetch("/api/v1/me", {"X-Request-Id": "mine-1"}, token=self.token())
        self.assertEqual("mine-1", headers["X-Request-Id"])
        status, headers, _ = self.fetch("/api/v1/me")
        self.assertEqual(401, status)
        self.assertTrue(headers["X-Request-Id"])

    def test_logs_changes_with_the_request_id(self):
        status, _, _ = self.fetch("/api/v1/experiments/9999/kill", {"X-Request-Id": "kill-7"}, b"{}",
                                self.token())
        self.assertEqual(404, status)
        line = harness.eventually(
            lambda: next((x for x in self.master_log() if "kill-7" in x), None), "the log line of the request")
        for word in ("KillExperiment", "caller=admin", "peer=127.0.0.1", "experiment 9999",
                     "NOT_FOUND"):
            self.assertIn(word, line)

    def master_log(self):
        with open(self.home.data + "/log/master.log", encoding="utf-8", errors="replace") as f:
            return f.readlines()

    def test_openapi_document_lists_the_methods_of_det(self):
        status, headers, body = self.fetch("/api/v1/openapi.json", {"Accept-Encoding": "gzip"})
        self.assertEqual((200, "gzip"), (status, headers["Content-Encoding"]))
        document = json.loads(gzip.decompress(body))
        self.assertEqual("3.1.0", document["openapi"])
        self.assertIn("post", document["paths"]["/api/v1/experiments"])
        self.assertEqual([], document["paths"]["/info"]["get"]["security"])
        status, headers, body = self.fetch("/api")
        self.assertEqual(200, status)
        self.assertIn("text/html", headers["Content-Type"])
        self.assertIn(b"/api/v1/openapi.json", body)

    def test_rejects_requests_of_other_origins(self):
        _, headers, _ = self.fetch("/info", {"Origin": "https://elsewhere.example"})
        self.assertIsNone(headers["Access-Control-Allow-Origin"])


if __name__ == "__main__":
    harness.main()
