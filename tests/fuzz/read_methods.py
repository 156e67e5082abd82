"""Writes a request for each HTTP route of the API as a seed of gateway_fuzz, from the descriptors.

Usage: read_methods.py DESCRIPTOR_SET OUT
"""

import json
import re
import sys
from urllib.parse import quote

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor

# Names that exist in the cluster of gateway_fuzz. All other names are "thing", and all other IDs 1.
NAMES = {"task": "1.1", "allocation": "1.1.0", "username": "viewer", "job": "exp-1",
         "agent": "agent-0", "slot": "0", "pool": "default", "date": "2026-11-20",
         "timestamp": "2026-11-20", "config": "name: x", "workload": "experiment",
         "group": "training", "metric": "loss"}
# Messages with a special JSON representation.
TEXTS = {"google.protobuf.Timestamp": "2026-11-20T09:00:00Z", "google.protobuf.Struct": {"a": 1},
         "google.protobuf.Value": 1, "google.protobuf.ListValue": [1],
         "google.protobuf.FieldMask": "a"}
DEPTH = 3


def name_for(name: str) -> str:
    return next((text for part, text in NAMES.items() if part in name), "thing")


def sample(field: FieldDescriptor, depth: int) -> object:
    if field.message_type is not None:
        inner = field.message_type
        return TEXTS.get(inner.full_name) or make_message(inner, depth - 1)
    if field.enum_type is not None:
        return field.enum_type.values[-1].name
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return True
    if field.type == FieldDescriptor.TYPE_BYTES:
        return "AQ=="
    return name_for(field.name) if field.cpp_type == FieldDescriptor.CPPTYPE_STRING else 1


def make_message(message: Descriptor, depth: int = DEPTH) -> dict[str, object]:
    members: dict[str, object] = {}
    for field in message.fields if depth > 0 else []:
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            members[field.json_name] = {"1": sample(entry.fields_by_name["value"], depth)}
        elif field.label == FieldDescriptor.LABEL_REPEATED:
            members[field.json_name] = [sample(field, depth)]
        else:
            members[field.json_name] = sample(field, depth)
    return members


def query(members: dict[str, object]) -> str:
    plain = [(name, value[0] if isinstance(value, list) else value)
             for name, value in members.items()]
    return "&".join(f"{name}={quote(str(value).lower() if value is True else str(value))}"
                    for name, value in plain if not isinstance(value, dict))


def seed(method: MethodDescriptor, verb: str, path: str, body: str) -> str:
    members = make_message(method.input_type)
    for variable in re.findall(r"{([\w.]+)[^}]*}", path):
        inner = method.input_type
        for name in variable.split("."):
            field = inner.fields_by_name[name]
            inner = field.message_type
        number = field.cpp_type != FieldDescriptor.CPPTYPE_STRING
        path = re.sub(r"{[^}]*}", "1" if number else name_for(field.name), path, count=1)
        members.pop(field.json_name, None)
    if body == "*":
        return f"{verb} {path}\n{json.dumps(members)}"
    text = ""
    if body:
        text = json.dumps(members.pop(method.input_type.fields_by_name[body].json_name))
    parameters = query(members)
    return f"{verb} {path}{'?' if parameters else ''}{parameters}\n{text}"


def routes(rule: object) -> list[tuple[str, str, str]]:
    found = []
    for each in [rule, *rule.additional_bindings]:
        verb = each.WhichOneof("pattern")
        if verb:
            found.append((verb.upper(), getattr(each, verb), each.body))
    return found


def main() -> None:
    set_path, out_path = sys.argv[1:]
    with open(set_path, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for each in files.file:
        pool.Add(each)
    options = message_factory.MessageFactory(pool).GetPrototype(
        pool.FindMessageTypeByName("google.protobuf.MethodOptions"))
    http = pool.FindExtensionByName("google.api.http")
    seeds = []
    for each in files.file:
        for service in each.service:
            full = f"{each.package}.{service.name}" if each.package else service.name
            for method in pool.FindServiceByName(full).methods:
                rule = options.FromString(method.GetOptions().SerializeToString()).Extensions[http]
                seeds += [seed(method, *route) for route in routes(rule)]
    with open(out_path, "w", encoding="utf-8") as file:
        file.write("%%\n".join(seeds))


if __name__ == "__main__":
    main()
