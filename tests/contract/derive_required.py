#!/usr/bin/env -S python3 -B
"""Makes required_fields.json: what existing clients read from answers without looking whether it is there.

    derive_required.py FOLDER

FOLDER contains http-operations.md, a list of the operations and messages of existing clients, which is
not part of this repository.
"""
import json
import os
import re
import sys

import read_traces

# Members of free-form objects that clients read without looking.
READ_FROM_OBJECTS = {
    "v1GetMasterConfigResponse.config": ["feature_switches"],
}


def message_of(kind, messages):
    """The message in a type such as "Sequence[v1Trial]", with how it is contained; None for others."""
    for pattern, container in ((read_traces.LIST, "[]"), (read_traces.MAP, "{}")):
        match = pattern.match(kind)
        if match:
            return [match[1], container] if match[1] in messages else None
    return [kind, ""] if kind in messages else None


def main(folder):
    operations = read_traces.Operations(read_traces.read(folder, "http-operations.md"))
    messages = {}
    for name, fields in operations.messages.items():
        required = [field for field, _, is_required in fields if is_required]
        nested = {field: found for field, kind, _ in fields
                  if (found := message_of(kind, operations.messages))}
        if required or nested:
            messages[name] = {"required": required, "nested": nested}
    facts = {
        "operations": {f"{each['verb']} {re.sub(r'{[^}]*}', '{}', each['path'])}": each["answer"]
                       for each in operations.methods if each["answer"] in messages},
        "messages": messages,
        "objects": READ_FROM_OBJECTS,
    }
    parts = [f"{json.dumps(name)}: {{\n" + ",\n".join(
        f"{json.dumps(key)}: {json.dumps(each)}" for key, each in sorted(part.items())) + "\n}"
        for name, part in facts.items()]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "required_fields.json")
    with open(path, "w", encoding="utf-8") as f:
        f.write("{" + ",\n".join(parts) + "}\n")


if __name__ == "__main__":
    main(sys.argv[1])
