"""Plays the recorded scenario (recorded/) against a master, and compares the answers.

The calls depend on each other: they create users, workspaces and experiments with fixed names, and
later calls use their IDs. The master must therefore be new, and all groups are played in order.
"""
import glob
import hashlib
import http.client
import http.server
import json
import os
import re
import threading
import time
import urllib.parse

import answer_shapes

CLIENT_SALT = "GubPEmmotfiK9TMD6Zdw"
ENDED = ("STATE_CANCELED", "STATE_COMPLETED", "STATE_ERROR")
LIMIT = 60  # Seconds, for one answer or a change of state, which take much less: detects hangs.
MAX_LIST = 40  # The recording has at most this many elements of a list,
SLIM = ("config", "originalConfig", "experimentConfig", "experiment_config")  # and these only of the first.
REFERENCE = re.compile(r"\{([a-z]+:[^{}\s]+|admin|receiver|6000 v)\}")


def load(folder):
    """The tables by group, in the order of the scenario."""
    tables = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as f:
            tables[os.path.basename(path)[3:-5]] = json.load(f)
    return tables


def hash_password(password):
    return hashlib.sha512((CLIENT_SALT + password).encode()).hexdigest()


def get_member(value, path, default=None):
    """The member at a path such as "trials.0.id"."""
    for name in path.split("."):
        try:
            value = value[int(name)] if isinstance(value, list) else value[name]
        except (KeyError, IndexError, TypeError, ValueError):
            return default
    return default if value is None else value


def slim(value, is_first=True):
    """The part of an answer that a recording contains."""
    if isinstance(value, dict):
        return {k: slim(v, is_first) for k, v in value.items()
                if is_first or k not in SLIM or len(json.dumps(v)) <= 300}
    if isinstance(value, list):
        return [slim(v, is_first and i == 0) for i, v in enumerate(value[:MAX_LIST])]
    return value


class Receiver:
    """Receives the deliveries of webhooks."""

    def __init__(self):
        deliveries = self.deliveries = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                deliveries.append((self.path, body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Answer:
    """The status (None if there was none in time) and the value of an answer; `whole` is the value with
    what recordings leave out."""

    def __init__(self, status=None, value=None):
        self.status, self.value, self.whole = status, value, value


def parse(data, kind, is_stream, is_complete):
    """The value of an answer as recordings write it: streams are lists of their lines."""
    text = data.decode("utf-8", "replace")
    if is_stream or ("json" in kind and "\n{" in text.strip()):
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            return [json.loads(line) for line in lines]
        except ValueError:
            if not is_complete:
                return [json.loads(line) for line in lines[:-1]]
    try:
        return json.loads(text)
    except ValueError:
        pass
    if "html" in kind:
        return {"_html": True}
    if "text" in kind or "csv" in kind or not data:
        return {"_text": text}
    return {"_bytes": True}


class Player:
    def __init__(self, port, admin_password, tables):
        self.port, self.admin_password, self.tables = port, admin_password, tables
        self.tokens, self.ids = {}, {}
        self.attempts = {}  # the number of the current attempt by the path of its trial
        self.receiver = Receiver()
        self.deliveries_seen = {}

    def play(self, observe):
        """Makes all calls; passes "group:name", the call, the shape and the answer to `observe`."""
        try:
            for group, table in self.tables.items():
                for call in table["calls"]:
                    answer = self._answer(call)
                    shape = table["shapes"][call["shape"]] if "shape" in call else None
                    observe(f"{group}:{call['name']}", call, shape, answer)
        finally:
            self.receiver.close()

    # ---- one call

    def _answer(self, call):
        if call.get("delivery"):
            return self._delivery(call)
        for step in call.get("before", []):
            self._prepare(step, call)
        answer = self.send(call["method"], call["path"], self._set_attempt(call), **{
            name: call[name] for name in ("query", "raw", "headers", "objects")
            if name in call}, caller=call["as"], is_stream=call.get("stream", False))
        self._learn(call, answer)
        if isinstance(answer.value, dict):
            kept = call.get("keep", {})
            answer.value = {name: value[:kept[name]] if name in kept and isinstance(value, list) else value
                            for name, value in answer.value.items()}
        answer.value = slim(answer.value)
        return answer

    def _set_attempt(self, call):
        """The body of the call. An accepted report names the current attempt of its trial, which may have
        another number here, because the original service refused to start an attempt."""
        body = call.get("body")
        attempt = self.attempts.get(call["path"].rpartition("/")[0])
        if attempt is None or call.get("status") != 200:
            return body
        return json.loads(re.sub(r'"trialRunId": \d+', f'"trialRunId": {attempt}', json.dumps(body)))

    def _learn(self, call, answer):
        if call["path"].endswith("/start") and get_member(answer.value, "trialRunId"):
            self.attempts[call["path"].rpartition("/")[0]] = answer.value["trialRunId"]
        for path, reference in call.get("creates", {}).items():
            self.ids[reference] = get_member(answer.value, path)
        if "becomes" in call:
            self.tokens[call["becomes"]] = get_member(answer.value, "token", "none")

    def _delivery(self, call):
        number = self.deliveries_seen[call["path"]] = self.deliveries_seen.get(call["path"], 0) + 1
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            bodies = [body for path, body in self.receiver.deliveries if path == call["path"]]
            if len(bodies) >= number:
                return Answer(200, slim(parse(bodies[number - 1], "json", False, True)))
            time.sleep(0.05)
        return Answer()

    def send(self, method, path, body=None, raw=None, query=None, headers=None, caller="admin",
             is_stream=False, objects=None):
        path = self._fill(path)
        if query:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode(self._fill(query), doseq=True)
        data = None
        sent = {"Accept": "*/*"}
        if raw is not None:
            data = raw.encode()
        elif body is not None:
            data = json.dumps(self._fill(body)).encode()
            sent["Content-Type"] = "application/json"
        if caller in self.tokens:
            sent["Authorization"] = "Bearer " + self.tokens[caller]
        elif caller == "bad token":
            sent["Authorization"] = "Bearer nonsense"
        sent.update(self._fill(headers or {}))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        try:
            connection.request(method, path, data, sent)
            return self._read(connection.getresponse(), connection.sock, is_stream, objects)
        except OSError:
            return Answer()
        finally:
            connection.close()

    @staticmethod
    def _read(response, sock, is_stream, objects):
        """Reads the answer, of a stream at most `objects` lines, until the time limit."""
        data, is_complete = b"", True
        end = time.monotonic() + LIMIT
        while True:
            if objects is not None and data.count(b"\n") >= objects:
                is_complete = False
                break
            try:
                if sock and sock.fileno() >= 0:
                    sock.settimeout(max(end - time.monotonic(), 0.01))
                part = response.read1(65536)
            except (OSError, http.client.HTTPException):
                is_complete = False
                break
            if not part:
                break
            data += part
        value = parse(data, response.headers.get("Content-Type", ""), is_stream, is_complete)
        if objects is not None and isinstance(value, list):
            value = value[:objects]
        return Answer(response.status, value)

    def _fill(self, value):
        """Replaces references by the IDs of this master."""
        if isinstance(value, dict):
            return {k: self._fill(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self._fill(v) for v in value]
        if not isinstance(value, str):
            return value
        whole = REFERENCE.fullmatch(value)
        if whole:
            return self._resolve(whole[1])
        return REFERENCE.sub(lambda match: str(self._resolve(match[1])), value)

    def _resolve(self, name):
        """The value of a reference; no resource has the ID 0 or "none"."""
        kind, _, key = name.partition(":")
        if name == "admin":
            return self.admin_password
        if name == "receiver":
            return self.receiver.address
        if name == "6000 v":
            return "v" * 6000
        if kind == "hash":
            return hash_password(self.admin_password if key == "admin" else key)
        if kind == "token":
            if not key.isdigit():
                return self.tokens.get(key, "")
        return self.ids.get(name) or ("none" if kind == "task" else 0)

    # ---- steps that are not compared

    def _prepare(self, step, call):
        if "login" in step:
            self._login(step)
        elif "each" in step:
            self._send_each(step)
        elif "call" in step:
            self._learn(step, self.send(step["call"], step["path"], step["body"]))
        elif "sleep" in step:
            time.sleep(step["sleep"])
        elif "until" in step:
            self._wait(step, call)

    def _login(self, step):
        if step.get("if_needed") and self.send("GET", "/api/v1/me", caller=step["login"]).status == 200:
            return
        for password in map(self._fill, step["passwords"]):
            answer = self.send("POST", "/api/v1/auth/login", caller=None, body={
                "username": step["username"], "password": password})
            token = get_member(answer.value, "token")
            if token:
                self.tokens[step["login"]] = token
                return

    def _wait(self, step, call):
        path = step.get("path", call["path"])
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            answer = self.send("GET", path)
            if step["until"] == "gone" and answer.status == 404:
                return
            if step["until"] == "ended" and get_member(answer.value, "experiment.state") in ENDED:
                return
            listed = get_member(answer.value, "experiments", [])
            if step["until"] == "all ended" and listed and all(x.get("state") in ENDED for x in listed):
                return
            time.sleep(0.2)

    def _send_each(self, step):
        method, _, path = step["call"].partition(" ")
        for each in get_member(self.send("GET", step["each"]).value, step["member"], []):
            if all(str(each.get(k, "")).startswith(self._fill(v)) for k, v in step["only"].items()):
                self.send(method, path.replace("{id}", str(each.get("id"))))


def compare(call, shape, answer):
    """How the answer differs from the recorded one; a list of texts, empty if it is equal."""
    if (call["status"] or 0) >= 500:
        # The original service fails here. Answers may differ, but must not be a failure.
        is_failure = (answer.status or 500) >= 500 and answer.status != 501
        return [f"status {answer.status}"] if is_failure else []
    found = []
    if answer.status != call["status"]:
        found.append(f"status {answer.status}, not {call['status']}")
    if shape is not None and answer.status is not None:
        found += answer_shapes.differences(shape, answer_shapes.shape_of(answer.value))
    return found
