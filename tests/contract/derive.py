#!/usr/bin/env python3
"""Makes the tables in recorded/ from a recording of the original service: derive.py RECORDING.

The recording is a folder with one JSON file per group of calls; it is not part of this repository. A
table has the requests of a group, the status and the shape (answer_shapes.py) of each answer, and no
text of the answers. IDs of the recording become references such as "{exp:8}", which the player
(scenario.py) replaces by the ID in the answer that "creates" names.
"""
import glob
import json
import os
import re
import sys

import answer_shapes
import unrecorded

# The order of the scenario.
GROUPS = ("login users tokens groups_rbac routing workspaces projects templates config_policies "
          "agents_pools master experiments_create experiments_read experiments_change jobs "
          "searcher_preview detached metrics_report trials_read checkpoints logs metric_streams "
          "experiments_search runs models webhooks checkpoints_delete ntsc allocations generic_tasks "
          "bulk as_user unauthenticated not_found wrong_type empty_body").split()

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
TASK = re.compile(rf"(?:\d+\.)?{UUID}")

# Which member of an answer has the number of which kind of resource.
CREATED = {"experiment.id": "exp", "trial.id": "trial", "workspace.id": "ws", "project.id": "proj",
           "user.id": "user", "model.id": "model", "webhook.id": "hook", "group.groupId": "group",
           "tokenId": "token", "storageId": "storage"}
LISTED = re.compile(r"trials\.\d+\.id")

# Which parts of a path, a query or a body refer to which kind.
IN_PATH = {"exp": "exp", "trial": "trial", "run": "trial", "ws": "ws", "proj": "proj", "user": "user",
           "model": "model", "hook": "hook", "group": "group", "token": "token"}
IN_BODY = {
    "exp": "experimentId experimentIds parentId excludedExperimentIds experimentIdFilter.gte "
           "experimentIdFilter.incl experimentIdFilter.notIn",
    "trial": "trialId trialIds runId runIds",
    "proj": "projectId sourceProjectId destinationProjectId",
    "ws": "workspaceId workspaceIds destinationWorkspaceId",
    "user": "userId userIds addUsers removeUsers",
    "group": "groupId addGroups removeGroups", "token": "tokenIds", "model": "modelId",
    "storage": "storageId"}
KIND_OF = {name: kind for kind, names in IN_BODY.items() for name in names.split()}
# Members with a general name, by template of the path.
SPECIAL = {("/api/v1/experiments/continue", "id"): "exp", ("/api/v1/models", "id"): "model",
           ("/api/v1/experiments/metrics-stream/metric-names", "ids"): "exp"}
FILTER_COLUMNS = {"/api/v1/experiments-search": {"id": "exp", "projectId": "proj", "userId": "user"},
                  "/api/v1/runs": {"id": "trial", "experimentId": "exp", "user": "user"}}


def leaves(value, path=""):
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from leaves(each, f"{path}.{i}" if path else str(i))
    else:
        yield path, value


class References:
    """The IDs in answers, and the calls that create them."""

    def __init__(self):
        self.origin = {}  # reference -> (call, path in the answer)
        self.tasks = {}   # task ID -> reference
        self.literal = set()
        self.used = set()

    def learn(self, call, entry):
        if entry["status"] != 200:
            return
        for path, value in leaves(entry["response"]):
            kind = CREATED.get(path) or ("trial" if LISTED.fullmatch(path) else None)
            if kind and isinstance(value, int) and value:
                self.origin.setdefault(f"{kind}:{value}", (call, path))
            if isinstance(value, str) and TASK.fullmatch(value) and value not in self.literal:
                if value not in self.tasks:
                    self.tasks[value] = f"task:{len(self.tasks) + 1}"
                    self.origin[self.tasks[value]] = (call, path)

    def provide(self, step):
        """The step, a call that is not recorded, creates resources."""
        for path, reference in step.get("creates", {}).items():
            self.origin[reference] = (step, path)

    def number(self, kind, value):
        reference = f"{kind}:{value}"
        if str(value).isdigit() and reference in self.origin:
            self.used.add(reference)
            return "{" + reference + "}"
        return value

    def text(self, text):
        for match in sorted(set(TASK.findall(text)), key=len, reverse=True):
            if match in self.tasks:
                self.used.add(self.tasks[match])
                text = text.replace(match, "{" + self.tasks[match] + "}")
            else:
                self.literal.add(match)
        return text.replace("http://127.0.0.1:PORT", "{receiver}")


class Deriver:
    def __init__(self, recording):
        self.recording, self.references = recording, References()

    def tables(self):
        groups = {}
        for group in GROUPS:
            with open(os.path.join(self.recording, group + ".json"), encoding="utf-8") as f:
                entries = json.load(f)
            shapes = []
            calls = [self._call(group, entry, shapes, entries) for entry in entries]
            groups[group] = {"shapes": shapes, "calls": calls}
        self._keep_used_references()
        return groups

    def _call(self, group, entry, shapes, entries):
        key = f"{group}:{entry['name']}"
        call = {"name": entry["name"], "as": entry["as"], "method": entry["method"]}
        if entry.get("delivery"):
            call.update(delivery=True, path=entry["path"])
        else:
            self._add_steps(key, call, entries)
            call["path"] = self._path(entry)
            call.update(self._request(key, entry))
        call["status"] = entry["status"]
        left_out = isinstance(entry["response"], dict) and "_left_out" in entry["response"]
        if (entry["status"] or 0) < 500 and not left_out:
            shape = answer_shapes.shape_of(entry["response"])
            if shape not in shapes:
                shapes.append(shape)
            call["shape"] = shapes.index(shape)
        self._add_limits(group, entry, call)
        for name in [k for k, v in call.items() if v is None and k not in ("as", "status")]:
            del call[name]
        self.references.learn(call, entry)
        return call

    def _add_steps(self, key, call, entries):
        steps = []
        for step in unrecorded.BEFORE.get(key, []):
            if "kill" in step:
                answers = {entry["name"]: entry["response"] for entry in entries}
                steps += [{"call": "POST", "body": {}, "path": "/api/v1/tasks/" + self.references.text(
                    answers[name]["taskId"]) + "/kill"} for name in step["kill"]]
            else:
                steps.append(dict(step))
                self.references.provide(steps[-1])
                self._use(json.dumps(step))
        if steps:
            call["before"] = steps
        if key in unrecorded.BECOMES:
            call["becomes"] = unrecorded.BECOMES[key]

    def _use(self, text):
        self.references.used.update(re.findall(r"\{([a-z]+:\d+)\}", text))

    def _path(self, entry):
        path, template = entry["path"].split("/"), entry["template"].split("/")
        for i, part in enumerate(template):
            kind = IN_PATH.get(part.strip("{}")) if part.startswith("{") else None
            if kind:
                path[i] = str(self.references.number(kind, path[i]))
        return self.references.text("/".join(path))

    def _request(self, key, entry):
        request = {"query": self._value(entry["query"], "", entry["template"])}
        body = unrecorded.BODIES.get(key, entry["request"])
        if key in unrecorded.PASSWORDS:
            body = {**body, "password": unrecorded.PASSWORDS[key]}
        if key in unrecorded.RAW:
            request["raw"] = body
        else:
            request["body"] = self._value(body, "", entry["template"])
        request["headers"] = unrecorded.HEADERS.get(key)
        return request

    def _value(self, value, name, template):
        if isinstance(value, dict):
            return {k: self._value(v, k, template) for k, v in value.items()}
        if isinstance(value, list):
            return [self._value(v, name, template) for v in value]
        if isinstance(value, bool) or value is None:
            return value
        if name == "filter" and template in FILTER_COLUMNS:
            return self._filter(value, FILTER_COLUMNS[template])
        kind = SPECIAL.get((template, name)) or KIND_OF.get(name)
        if kind:
            value = self.references.number(kind, value)
        return self.references.text(value) if isinstance(value, str) else value

    def _filter(self, text, columns):
        def refer(match):
            kind = columns.get(match[1])
            return match[0][:-len(match[2])] + str(
                self.references.number(kind, match[2]) if kind else match[2])
        return re.sub(r'"columnName": "(\w+)"[^{}]*?"value": (\d+)', refer, text)

    def _add_limits(self, group, entry, call):
        answer, open_ended = entry["response"], entry.get("read_until")
        if entry.get("stream"):
            call["stream"] = True
            if open_ended or group == "metric_streams" or "[]" in entry.get("cut", {}):
                call["objects"] = len(answer)
        kept = {}
        for path, length in entry.get("cut", {}).items():
            name = path[1:]
            if isinstance(length, int) and isinstance(answer, dict) and name in answer:
                kept[name] = len(answer[name])
        call["keep"] = kept or None

    def _keep_used_references(self):
        missing = sorted(self.references.used - set(self.references.origin))
        if missing:
            sys.exit(f"no answer has {', '.join(missing)}")
        for reference, (call, path) in self.references.origin.items():
            if reference in self.references.used and call.get("creates", {}).get(path) != reference:
                call.setdefault("creates", {})[path] = reference


def write(folder, tables):
    for path in glob.glob(os.path.join(folder, "*.json")):
        os.unlink(path)
    for number, (group, table) in enumerate(tables.items()):
        lines = [",\n".join(json.dumps(each, separators=(",", ":")) for each in table[part])
                 for part in ("shapes", "calls")]
        with open(os.path.join(folder, f"{number:02}_{group}.json"), "w", encoding="utf-8") as f:
            f.write('{"shapes": [\n%s\n],\n"calls": [\n%s\n]}\n' % tuple(lines))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: derive.py RECORDING")
    write(os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded"),
          Deriver(sys.argv[1]).tables())
