#!/usr/bin/env -S python3 -B
"""Converts the recorded exchanges of existing clients to exchanges.json.

    read_traces.py FOLDER > exchanges.json

FOLDER contains http-client-trace.md, http-task-trace.md and http-operations.md, which are not part of this
repository. Only facts are used: methods, paths, bodies, field names, enumerations.
"""
import json
import os
import re
import sys

# Types in the list of messages.
LIST = re.compile(r"Sequence\[(.*)\]$")
MAP = re.compile(r"Dict\[str, (.*)\]$")
SIMPLE = {"str": "str", "int": "int", "float": "float", "bool": "bool"}
# Optional in the bindings, but required by loops over pages in the client.
ALWAYS = {"v1Pagination": ("endIndex", "total")}


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


class Operations:
    """The content of http-operations.md: methods, messages, enumerations."""

    def __init__(self, text):
        self.messages, self.enums, self.methods = {}, {}, []
        for line in text.splitlines():
            method = re.match(r"- `(\w+) (/\S*)` (\w+)(.*)$", line)
            message = re.match(r"- (\w+): (.*)$", line)
            if method:
                self._add_method(*method.groups())
            elif message and re.fullmatch(r"[\w, ]+", message[2]):
                self.enums[message[1]] = message[2].split(", ")
            elif message:
                self.messages[message[1]] = self._fields(message[2])

    def _add_method(self, verb, path, name, rest):
        answer = re.search(r"-> (\w+)", rest)
        self.methods.append({"name": name, "verb": verb, "path": path,
                             "stream": "(stream)" in rest, "answer": answer and answer[1]})

    @staticmethod
    def _fields(text):
        fields = []
        for part in text.split("; "):
            name, _, kind = part.partition(": ")
            fields.append((name.rstrip("!"), kind, name.endswith("!")))
        return fields

    def needs(self, message, path=""):
        """The required fields below a message: {"agents[].id": "str"}."""
        found = {}
        for name, kind, required in self.messages.get(message, []):
            if required or name in ALWAYS.get(message, ()):
                found.update(self._need(kind, f"{path}.{name}" if path else name))
            elif kind in ALWAYS:  # If present, it must be complete.
                found.update(self._need(kind, f"{path}.{name}" if path else name))
        return found

    def _need(self, kind, path):
        many, by_name = LIST.match(kind), MAP.match(kind)
        if many:
            return {path: "list", **self._need(many[1], path + "[]")}
        if by_name:
            return {path: "map", **self._need(by_name[1], path + "{}")}
        if kind in self.messages:
            return {path: "map", **self.needs(kind, path)}
        if kind in self.enums:
            return {path: kind}
        return {path: SIMPLE[kind]} if kind in SIMPLE else {}

    def find(self, verb, path):
        """The method for a path; the one with the most literal segments is preferred."""
        parts = path.split("?")[0].split("/")
        fits = []
        for method in self.methods:
            pattern = method["path"].split("/")
            if method["verb"] == verb and len(pattern) == len(parts) and all(
                    p == q or (p.startswith("{") and q) for p, q in zip(pattern, parts)):
                fits.append((sum(p.startswith("{") for p in pattern), method["name"], method))
        return min(fits)[2] if fits else None


def body_of(text):
    """The JSON value; None if the trace truncated it."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def client_exchanges(text):
    """The exchanges of the recorded commands, in order."""
    found, command = [], None
    for line in text.splitlines():
        head = re.match(r"### (det .*?)\s+\[rc=", line)
        call = re.match(r"(\d{3}) (GET|POST|PUT|PATCH|DELETE) (\S+)", line)
        body = re.match(r"\s+> (.*)$", line)
        sdk = line.startswith("Python SDK") and re.findall(r"`(GET|POST) (/api\S+)`", line)
        if head:
            command = head[1]
        elif call and command:
            found.append({"command": command, "status": int(call[1]), "verb": call[2],
                          "path": call[3]})
        elif body and found and command:
            found[-1]["body"] = body_of(body[1])
        elif sdk:
            found += [{"command": "SDK", "status": 200, "verb": verb,
                       "path": path.replace("{id}", "1")} for verb, path in sdk]
        elif line.startswith("## "):
            command = None
    return found


def short_body(known, note):
    """The body of the long trace, with the changes that the short trace notes."""
    body = json.loads(json.dumps(known))
    for key, value in re.findall(r"(\w+)=(\w+)", note):
        if key == "steps":
            body["metrics"]["stepsCompleted"] = int(value)
        elif key in body:
            body[key] = value
    if re.fullmatch(r"[\d.]+", note):
        body["progress"] = float(note)
    given = body_of(note) if note.startswith("{") else None
    if given:
        body.update({"metadata": given} if "metadata" in body else given)
    return body


def task_exchanges(text):
    """The exchanges of all runs: first the long numbered trace, whose bodies the short traces refer
    to."""
    runs, known, run = {}, {}, None
    for line in text.splitlines():
        head = re.match(r"## (\d+)\. (.*)$", line)
        call = re.match(r"(?:(\d{3}) |\s*\d+\. )(GET|POST|PUT|PATCH|DELETE) (\S+)\s*(.*)$", line)
        body, answer = re.match(r"\s+> (.*)$", line), re.match(r"\s+< (\d{3}) ", line)
        if head:
            run = re.sub(r"\s*\(.*", "", head[2]) if int(head[1]) >= 5 else None
        elif line.startswith("Preempted") and run:
            run = run.split(",")[0] + ", preempted"
        elif run and call:
            step = {"verb": call[2], "path": call[3], "status": int(call[1] or 200)}
            key = (step["verb"], re.sub(r"\d+|\?.*", "", step["path"]))
            batches = re.search(r"batchMetrics: (\d+)", call[4])
            if batches:
                step["batches"] = int(batches[1])
            if key in known or call[4].startswith("{"):
                step["body"] = short_body(known.get(key, {}), call[4])
            runs.setdefault(run, []).append(step)
        elif run and body:
            step = runs[run][-1]
            step["body"] = body_of(body[1])
            if step["body"] is not None:
                known.setdefault((step["verb"], re.sub(r"\d+|\?.*", "", step["path"])),
                                 step["body"])
        elif run and answer:
            runs[run][-1]["status"] = int(answer[1])
    return [{"run": run, **step} for run, steps in runs.items() for step in steps]


def write(facts):
    """Prints JSON with one exchange, or the requirements of one operation, per line."""
    parts = []
    for name, value in facts.items():
        many = isinstance(value, list)
        lines = [json.dumps(each) for each in value] if many else [
            f"{json.dumps(key)}: {json.dumps(each)}" for key, each in value.items()]
        ends = "[]" if many else "{}"
        parts.append(f'"{name}": {ends[0]}\n' + ",\n".join(lines) + f"\n{ends[1]}")
    print("{" + ",\n".join(parts) + "}")


def main(folder):
    operations = Operations(read(folder, "http-operations.md"))
    client = client_exchanges(read(folder, "http-client-trace.md"))
    task = task_exchanges(read(folder, "http-task-trace.md"))
    needs, enums = {}, {}
    for step in client + task:
        method = operations.find(step["verb"], step["path"])
        if not method:
            continue
        step["operation"] = method["name"]
        fields = operations.needs(method["answer"])
        needs[method["name"]] = {"stream": method["stream"], "fields": fields}
        enums.update({kind: operations.enums[kind] for kind in fields.values()
                      if kind in operations.enums})
    write({"client": client, "task": task, "needs": dict(sorted(needs.items())),
           "enumerations": dict(sorted(enums.items())),
           "operations": [[each["name"], each["verb"], each["path"]]
                          for each in operations.methods]})


if __name__ == "__main__":
    main(sys.argv[1])
