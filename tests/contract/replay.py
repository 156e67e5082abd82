"""Sends recorded requests unchanged, except for the IDs of resources."""
import http.client
import json

import fields
import unserved


class Answer:
    def __init__(self, status, text):
        self.status, self.text = status, text

    def json(self):
        return json.loads(self.text) if self.text.strip() else {}

    def results(self):
        """The messages of a stream."""
        lines = [json.loads(line) for line in self.text.splitlines() if line.strip()]
        return [line.get("result", line) for line in lines]


class Client:
    """A recorded client: its headers, without a content type."""

    def __init__(self, port, headers):
        self.port, self.headers = port, headers

    def send(self, verb, path, body=None, timeout=60):
        """The response; for a stream with follow=true, its first line."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            text = None if body is None else json.dumps(body)
            connection.putrequest(verb, path, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            if text is not None or verb in ("POST", "PUT", "PATCH"):
                connection.putheader("Content-Length", str(len(text or "")))
            connection.endheaders(text.encode() if text else None)
            answer = connection.getresponse()
            follows = "follow=true" in path and answer.status == 200
            raw = answer.readline() if follows else answer.read()
            return Answer(answer.status, raw.decode())
        finally:
            connection.close()


def substitute(value, names):
    """The body with its strings replaced by `names`."""
    if isinstance(value, dict):
        return {k: substitute(v, names) for k, v in value.items()}
    if isinstance(value, list):
        return [substitute(v, names) for v in value]
    return names.get(value, value) if isinstance(value, str) else value


class Report:
    """Checks responses and collects the differences, to report them together."""

    def __init__(self, facts):
        self.facts, self.failures, self.served = facts, [], 0

    def check(self, step, answer, where):
        name = step.get("operation", "")
        expected = step["status"]
        elsewhere = unserved.expectation(step)
        if elsewhere:
            expected = elsewhere[0]
        problems = []
        if answer.status != expected:
            problems = [f"status {answer.status}, not {expected}: {answer.text.strip()[:300]}"]
        elif expected == 200:
            problems = self._check_fields(name, answer)
            self.served += 1
        for each in problems:
            self.failures.append(f"{where}: {step['verb']} {step['path']} {name}: {each}")

    def _check_fields(self, name, answer):
        needs = self.facts["needs"].get(name)
        if not needs:
            return []
        try:
            parts = answer.results() if needs["stream"] else [answer.json()]
        except ValueError:
            return [f"not JSON: {answer.text[:200]!r}"]
        return sorted({each for part in parts for each in
                       fields.problems(part, needs["fields"], self.facts["enumerations"])})

    def summary(self):
        return "\n".join([f"{len(self.failures)} differences, {self.served} responses as recorded",
                          *self.failures])


def path_with(path, names):
    """The path with its segments replaced by `names`."""
    head, separator, query = path.partition("?")
    parts = [names.get(part, part) for part in head.split("/")]
    return "/".join(parts) + separator + query
