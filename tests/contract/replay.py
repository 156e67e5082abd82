"""Sends recorded exchanges as they were recorded, with the ids of what is there now."""
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
        """Of a stream: what each line carries."""
        lines = [json.loads(line) for line in self.text.splitlines() if line.strip()]
        return [line.get("result", line) for line in lines]


class Client:
    """One of the recorded clients: its headers, no content type."""

    def __init__(self, port, headers):
        self.port, self.headers = port, headers

    def send(self, verb, path, body=None, patience=60):
        """The answer; of a stream that follows, its first line."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience)
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
    """With names put in: whole texts of bodies, parts of paths."""
    if isinstance(value, dict):
        return {k: substitute(v, names) for k, v in value.items()}
    if isinstance(value, list):
        return [substitute(v, names) for v in value]
    return names.get(value, value) if isinstance(value, str) else value


class Report:
    """Judges answers and keeps what is wrong with them, to be told at once."""

    def __init__(self, facts):
        self.facts, self.failures, self.served = facts, [], 0

    def judge(self, step, answer, where):
        name = step.get("operation", "")
        expected = step["status"]
        elsewhere = unserved.expectation(step)
        if elsewhere:
            expected = elsewhere[0]
        wrong = []
        if answer.status != expected:
            wrong = [f"status {answer.status}, not {expected}: {answer.text.strip()[:300]}"]
        elif expected == 200:
            wrong = self._look(name, answer)
            self.served += 1
        for each in wrong:
            self.failures.append(f"{where}: {step['verb']} {step['path']} {name}: {each}")

    def _look(self, name, answer):
        needs = self.facts["needs"].get(name)
        if not needs:
            return []
        try:
            parts = answer.results() if needs["stream"] else [answer.json()]
        except ValueError:
            return [f"no JSON: {answer.text[:200]!r}"]
        return sorted({each for part in parts for each in
                       fields.problems(part, needs["fields"], self.facts["enumerations"])})

    def summary(self):
        return "\n".join([f"{len(self.failures)} differences, {self.served} answers as recorded",
                          *self.failures])


def path_with(path, names):
    """A path in whose parts names are replaced."""
    head, mark, query = path.partition("?")
    parts = [names.get(part, part) for part in head.split("/")]
    return "/".join(parts) + mark + query
