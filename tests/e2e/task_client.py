"""Talks to a notebook as Jupyter's clients do: its REST interface, and a kernel's websocket.

    task_client.py kernel ADDRESS CODE            runs the code in a new kernel, prints its output
    task_client.py start ADDRESS CODE             runs the code in a new kernel, prints its ID
    task_client.py continue ADDRESS KERNEL CODE   runs the code in that kernel, prints its output
    task_client.py repeat ADDRESS KERNEL CODE     does so for each line of its input, on one websocket

ADDRESS is the service address of the notebook with its token.
"""
import json
import sys
import urllib.parse
import urllib.request
import uuid

import websocket


class Notebook:
    def __init__(self, address):
        self._url, _, self._query = address.partition("?")

    def start_kernel(self):
        request = urllib.request.Request(f"{self._url}api/kernels?{self._query}", b"{}",
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["id"]

    def connect(self, kernel):
        """The websocket of the kernel."""
        url = self._url.replace("http", "ws", 1)
        return websocket.create_connection(
            f"{url}api/kernels/{kernel}/channels?{self._query}", timeout=60)

    @staticmethod
    def execute(channel, code):
        """Runs the code; returns what it prints."""
        message = uuid.uuid4().hex
        channel.send(json.dumps({
            "header": {"msg_id": message, "msg_type": "execute_request", "username": "",
                       "session": uuid.uuid4().hex, "version": "5.3"},
            "parent_header": {}, "metadata": {}, "channel": "shell",
            "content": {"code": code, "silent": False, "store_history": False,
                        "user_expressions": {}, "allow_stdin": False, "stop_on_error": True},
        }))
        printed = ""
        while True:
            received = json.loads(channel.recv())
            if received.get("parent_header", {}).get("msg_id") != message:
                continue
            kind, content = received["msg_type"], received["content"]
            if kind == "stream":
                printed += content["text"]
            elif kind == "error":
                raise RuntimeError(f"{content['ename']}: {content['evalue']}")
            elif kind == "status" and content["execution_state"] == "idle":
                return printed


def main(action, address, *rest):
    notebook = Notebook(address)
    *kernels, code = rest
    kernel = kernels[0] if kernels else notebook.start_kernel()
    channel = notebook.connect(kernel)
    for _ in sys.stdin if action == "repeat" else [""]:
        printed = notebook.execute(channel, code)
        print(kernel if action == "start" else printed, flush=True, end="" if kernels else "\n")
    channel.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
