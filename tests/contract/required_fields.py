"""Finds members that existing clients read without looking, and that an answer lacks."""
import json
import os


class RequiredFields:
    """The facts of required_fields.json, which derive_required.py makes."""

    def __init__(self, folder):
        with open(os.path.join(folder, "required_fields.json"), encoding="utf-8") as f:
            facts = json.load(f)
        self.operations, self.messages = facts["operations"], facts["messages"]
        self.objects = facts["objects"]

    def find_message(self, method, path):
        """The message of the answers of a call; None if clients read nothing from them."""
        parts = f"{method} {path}".split("/")
        found = []
        for operation, message in self.operations.items():
            pattern = operation.split("/")
            if len(pattern) == len(parts) and all(p in ("{}", q) for p, q in zip(pattern, parts)):
                found.append((pattern.count("{}"), operation, message))
        return min(found)[2] if found else None  # the one with the most literal parts

    def problems(self, method, path, answer):
        """Describes what the answer lacks; a list of objects is a stream of them."""
        message = self.find_message(method, path)
        if message is None:
            return []
        parts = [each.get("result", each) for each in answer] if isinstance(answer, list) else [answer]
        return sorted({each for part in parts for each in self._problems(message, part, "")})

    def _problems(self, message, value, path):
        if not isinstance(value, dict):
            return [f"{path or 'the answer'} is not an object"]
        facts = self.messages.get(message, {"required": [], "nested": {}})
        found = []
        for name in facts["required"]:
            if name not in value:
                found.append(f"{path}.{name} is missing")
            elif value[name] is None and name in facts["nested"]:
                found.append(f"{path}.{name} is null")
        for name, (inner, container) in facts["nested"].items():
            if value.get(name) is None:
                continue  # optional, or reported already
            for each in self._values(value[name], container):
                found += self._problems(inner, each, f"{path}.{name}{container}")
        for name, needed in value.items():
            for each in self.objects.get(f"{message}.{name}", []):
                if each not in (needed or {}):
                    found.append(f"{path}.{name}.{each} is missing")
        return found

    @staticmethod
    def _values(value, container):
        if container == "[]":
            return value if isinstance(value, list) else [None]
        if container == "{}":
            return value.values() if isinstance(value, dict) else [None]
        return [value]
