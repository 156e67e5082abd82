"""A master over HTTP in the process of the test.

It records calls and returns what the test configures.
"""

import gzip
import http.server
import json
import threading
from contextlib import contextmanager
from unittest import mock

SERVICE = "/det.trial.v1.TrialRuntime/"
TOKEN, CLUSTER = "secret", "c"  # A task has these variables.


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Ignores clients that close the connection, which tests do at any time."""


class FakeMaster:
    """The master.

    Attributes:
        answers: The answer of each path (without its query): an object, or a function that returns
            (status, object), given (method, body). With status 0 the connection breaks.
        calls: The calls so far: (method, path, body).
    """

    def __init__(self):
        self.calls, self.answers = [], {}
        self.changed = threading.Condition()
        # The number of calls whose connection breaks instead of a response.
        self.dropped_responses = 0
        self.unavailable = False  # Whether every response is 503.
        self.preempt = threading.Event()
        self.tokens = set()
        self.server = _Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self):
        self.preempt.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def bodies(self, path):
        """Returns the bodies of the calls of a path."""
        return [body for _, called, body in self.calls if called == path]

    def wait_for(self, condition, what):
        with self.changed:
            if not self.changed.wait_for(condition, 30):
                raise AssertionError(f"did not happen: {what}; calls: {self.calls}")

    def reports(self):
        """Returns (run, group, steps) of each metric report."""
        return [
            (body["trialRunId"], report["group"], report["stepsCompleted"])
            for body in self.bodies(SERVICE + "ReportMetrics")
            for report in body["reports"]
        ]

    def answer(self, method, path, body):
        if self.unavailable:
            return 503, {"error": {"code": 14, "error": "starting"}}
        with self.changed:
            self.calls.append((method, path, body))
            self.changed.notify_all()
        if path.endswith("/signals/preemption"):
            self.preempt.wait(30)
            return 200, {"preempt": self.preempt.is_set()}
        known = self.answers.get(path, {})
        return known(method, body) if callable(known) else (200, known)

    def _handler(fake):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers.get("Content-Encoding") == "gzip":
                    data = gzip.decompress(data)
                fake.tokens.add(self.headers.get("Authorization"))
                path = self.path.partition("?")[0]
                status, answer = fake.answer(self.command, path, json.loads(data or b"null"))
                if fake.dropped_responses > 0:
                    fake.dropped_responses -= 1
                    status = 0
                if status == 0:
                    self.close_connection = True
                    return
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        return Handler


def refusal(status, code, words):
    return lambda _method, _body: (status, {"error": {"code": code, "error": words}})


@contextmanager
def fake_master():
    fake = FakeMaster()
    try:
        yield fake
    finally:
        fake.close()


def task_environment(fake, folder, **changes):
    """Returns the environment that an agent would set, with all files below the folder."""
    config = {
        "searcher": {"metric": "loss", "max_length": {"batches": 10}},
        "resources": {"slots_per_trial": 1},
        "data": {"path": "d"},
        "checkpoint_storage": {"type": "shared_fs", "host_path": f"{folder}/checkpoints"},
    }
    env = {
        "DET_MASTER": fake.url,
        "DET_MASTERS": fake.url,
        "DET_CLUSTER_ID": CLUSTER,
        "DET_AGENT_ID": "agent-0",
        "DET_TASK_ID": "3.7",
        "DET_ALLOCATION_ID": "3.7.1",
        "DET_SESSION_TOKEN": TOKEN,
        "DET_SLOT_IDS": "[0]",
        "DET_TASK_TYPE": "TRIAL",
        "DET_RESOURCES_ID": "agent-0",
        "DET_RUN_DIR": folder,
        "DET_CACHE_DIR": f"{folder}/cache",
        "DET_TRIAL_ID": "7",
        "DET_EXPERIMENT_ID": "3",
        "DET_TRIAL_RUN_ID": "1",
        "DET_TRIAL_SEED": "5",
        "DET_HPARAMS": '{"lr": 0.1}',
        "DET_EXPERIMENT_CONFIG": json.dumps(config),
        **changes,
    }
    return {name: value for name, value in env.items() if value is not None}


@contextmanager
def as_task(fake, folder, **changes):
    """Sets the environment of a task in this process."""
    from det import _info

    with mock.patch.dict("os.environ", task_environment(fake, folder, **changes)):
        _info._info = None
        try:
            yield _info.get_cluster_info()
        finally:
            _info._info = None
