#!/usr/bin/env -S python3 -B
"""Sends each field of each request at its boundaries to a master with PostgreSQL: numbers beyond 32 and 64
bits, infinities, NUL, unpaired surrogates, empty and long texts, nulls. No answer is a server error, and
what was stored can be read after a restart."""
import http.client
import json
import os
import sys
import time
import unittest
import urllib.parse

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import harness  # noqa: E402
from masters import Master  # noqa: E402

TEXTS = ["", "x" * 5000, "a\0b", "\ud800", "../..", "1e400"]
NUMBERS = [0, -1, 2**31, 2**63 - 1, 2**63, 1.5, "NaN", "Infinity", 1e308, None]
TIMES = ["", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-02-30T00:00:00Z"]
# Calls that end the session of the caller, stay open, or call other servers.
EXCLUDED = ("log", "login", "password", "users/", "stream", "watch", "overview", "test", "follow",
            "rendezvous", "all_gather", "signals", "allocations/")
SECONDS = 45  # The rest is left to another run, which begins elsewhere.


class Schema:
    def __init__(self, document):
        self._schemas = document["components"]["schemas"]

    def _resolve(self, schema):
        while "$ref" in schema or "allOf" in schema:
            if "allOf" in schema:
                schema = schema["allOf"][0]
            else:
                schema = self._schemas[schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def values(self, schema, depth=0):
        """Returns values at the boundaries of a schema; of an object, one member at a time."""
        schema = self._resolve(schema)
        kind = schema.get("type")
        if "enum" in schema:
            return [schema["enum"][-1], "NOPE", 99, -1]
        if kind == "string":
            if schema.get("format") == "date-time":
                return TIMES
            return TEXTS + ([2**63] if schema.get("format") in ("int64", "uint64") else [])
        if kind in ("integer", "number"):
            return NUMBERS
        if kind == "array":
            inner = self.values(schema["items"], depth + 1)
            return [[], [None]] + [[each, each] for each in inner[:4]]
        if kind == "boolean":
            return [True, None, 1]
        members = schema.get("properties", {}) if depth < 3 else {}
        found = [{name: each} for name, inner in members.items()
                 for each in self.values(inner, depth + 1)]
        return found or [{}, {"": 1}, {"a\0": None}, {"a": 1e308}]


class BoundariesTest(unittest.TestCase):
    def test_answers_fields_at_their_boundaries(self):
        home = harness.Home()
        self.addCleanup(home.close)
        master = Master(home, "data", None).leads()
        self.headers = {"Authorization": "Bearer " + master.token()}
        self.host = urllib.parse.urlsplit(master.url).netloc
        document = json.loads(self.send("GET", "/api/v1/openapi.json")[1])
        requests = list(self.requests(document))
        self.assertGreater(len(requests), 2000)
        begin = int(os.environ.get("BOUNDARIES_BEGIN", time.time())) % len(requests)
        end = time.monotonic() + SECONDS
        failed, sent = [], 0
        for verb, path, body in requests[begin:] + requests[:begin]:
            if time.monotonic() > end:
                break
            sent += 1
            status, text = self.send(verb, path, body)
            if status >= 500 and status != 501:
                failed.append(f"{status} {verb} {path[:150]} {str(body)[:150]}: {text[:200]}")
        master.kill(9).end()
        print(f"{sent} of {len(requests)} requests, from {begin}")
        self.assertEqual([], failed, home.logs())
        again = Master(home, "data", None).leads()
        self.addCleanup(lambda: again.kill(15).end())
        self.host = urllib.parse.urlsplit(again.url).netloc
        for path in ("experiments", "workspaces", "models", "templates", "webhooks", "users"):
            self.assertEqual(200, self.send("GET", "/api/v1/" + path)[0], path)

    def send(self, verb, path, body=None):
        connection = http.client.HTTPConnection(self.host, timeout=harness.TIMEOUT)
        try:
            connection.request(verb, path, body, self.headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def requests(self, document):
        schema = Schema(document)
        for path, operations in document["paths"].items():
            if any(word in path for word in EXCLUDED):
                continue
            for verb, operation in operations.items():
                parameters = operation.get("parameters", [])
                url = path
                for each in parameters:
                    if each["in"] == "path":
                        url = url.replace("{" + each["name"] + "}", "1")
                for each in parameters:
                    if verb != "get" or each["name"] in EXCLUDED:
                        continue
                    for value in schema.values(each["schema"]):
                        if isinstance(value, (dict, list)):
                            continue
                        text = urllib.parse.quote(str(value).encode("utf-8", "surrogatepass"), safe="")
                        if each["in"] == "query":
                            yield "GET", f"{url}?{each['name']}={text}", None
                        elif text:
                            at = path.replace("{" + each["name"] + "}", text)
                            if "{" not in at:
                                yield "GET", at, None
                content = operation.get("requestBody", {}).get("content", {})
                for media in content.values():
                    for value in schema.values(media["schema"]):
                        yield verb.upper(), url, json.dumps(value)


if __name__ == "__main__":
    harness.main()
