"""Whether an answer has what its reader cannot do without."""
import datetime
import re


def present(value, path):
    """All values at a path: "agents[].slotStats.typeStats{}.total". A member that is not there
    gives None, unless what it would lie in is not there either."""
    found = [value]
    for part in path.split("."):
        name = part.rstrip("[]{}")
        found = [v.get(name) if isinstance(v, dict) else None for v in found if v is not None]
        for mark in re.findall(r"\[\]|\{\}", part):
            found = [each for v in found if v is not None
                     for each in (v if mark == "[]" else v.values())]
    return found


def is_time(text):
    try:
        short = re.sub(r"(\.\d{1,6})\d*", r"\1", text)  # Python reads microseconds
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
    """What is missing or wrong, in words."""
    found = []
    for path, kind in fields.items():
        parent = path.rpartition(".")[0]
        optional = parent and parent not in fields  # such as a pagination: if there, then whole
        for value in present(answer, path):
            if value is None and not optional:
                found.append(f"{path} is not there")
            elif value is not None and not fits(value, kind, enumerations):
                found.append(f"{path} is no {kind}: {value!r}")
            elif path.endswith(("Time", "timestamp")) and kind == "str" and not is_time(value):
                found.append(f"{path} is no time: {value!r}")
    return sorted(set(found))
