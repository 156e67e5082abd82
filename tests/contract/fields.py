"""Checks that a response has the fields that its client requires."""
import datetime
import re


def present(value, path):
    """All values at a path such as "agents[].slotStats.typeStats{}.total". A missing member gives
    None, unless the object that would contain it is missing, too."""
    found = [value]
    for part in path.split("."):
        name = part.rstrip("[]{}")
        found = [v.get(name) if isinstance(v, dict) else None for v in found if v is not None]
        for brackets in re.findall(r"\[\]|\{\}", part):
            found = [each for v in found if v is not None
                     for each in (v if brackets == "[]" else v.values())]
    return found


def is_time(text):
    try:
        short = re.sub(r"(\.\d{1,6})\d*", r"\1", text)  # Python parses at most microseconds.
        datetime.datetime.fromisoformat(short.replace("Z", "+00:00"))
        return True
    except ValueError:
        return False


def fits(value, kind, enumerations):
    if kind in enumerations:
        return value in enumerations[kind]
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "float":
        return isinstance(value, (int, float)) or value in ("NaN", "Infinity", "-Infinity")
    types = {"str": str, "bool": bool, "list": list, "map": dict}
    return isinstance(value, types[kind])


def problems(answer, fields, enumerations):
    """Describes the fields that are missing or invalid."""
    found = []
    for path, kind in fields.items():
        parent = path.rpartition(".")[0]
        optional = parent and parent not in fields  # For example, a pagination is optional but must be complete.
        for value in present(answer, path):
            if value is None and not optional:
                found.append(f"{path} is missing")
            elif value is not None and not fits(value, kind, enumerations):
                found.append(f"{path} is not of type {kind}: {value!r}")
            elif path.endswith(("Time", "timestamp")) and kind == "str" and not is_time(value):
                found.append(f"{path} is not a timestamp: {value!r}")
    return sorted(set(found))
