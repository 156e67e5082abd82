"""Talks to a notebook as Jupyter's clients do: its REST interface, and a kernel's websocket; and to the
terminal of a shell as the dashboard does.

    task_client.py kernel ADDRESS CODE            runs the code in a new kernel, prints its output
    task_client.py start ADDRESS CODE             runs the code in a new kernel, prints its ID
    task_client.py continue ADDRESS KERNEL CODE   runs the code in that kernel, prints its output
    task_client.py repeat ADDRESS KERNEL CODE     does so for each line of its input, on one websocket
    task_client.py terminal ADDRESS TOKEN LINE END    types the line, prints what is shown up to END

ADDRESS is the service address of the notebook with its token, or of the shell's terminal.
"""
import json
import struct
import sys
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


def run_in_terminal(address, token, line, end):
    """Types the line in a terminal of 100 columns and 30 rows; returns what is shown up to `end`."""
    terminal = websocket.create_connection(
        address.replace("http", "ws", 1), timeout=60, header={"Authorization": "Bearer " + token})
    size = struct.pack(">HH", 100, 30)
    typed = line.encode() + b"\n"
    for kind, body in ((1, size), (0, typed)):
        terminal.send_binary(struct.pack(">BH", kind, len(body)) + body)
    shown = b""
    while end.encode() not in shown:
        shown += terminal.recv()
    terminal.close()
    return shown.decode()


def main(action, address, *rest):
    if action == "terminal":
        print(run_in_terminal(address, *rest))
        return
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
