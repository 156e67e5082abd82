"""Compares the shapes of two responses of a method, with the schemas of the OpenAPI document."""

NUMBERS = ("NaN", "Infinity", "-Infinity")
KINDS = {"string": str, "boolean": bool, "array": list, "object": dict}


def is_of(value, kind):
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return value in NUMBERS or is_of(value, "integer") or isinstance(value, float)
    return isinstance(value, KINDS[kind])


class Shapes:
    """`optional`: paths of fields that a response may lack, such as "trials[].endTime"."""

    def __init__(self, schemas, optional=()):
        self.schemas, self.optional = schemas, set(optional)

    def problems(self, golden, answer, schema):
        """Describes fields that only one of them has, and invalid values."""
        return sorted(set(self._compare([golden], [answer], schema, "")))

    def _compare(self, goldens, answers, schema, path):
        """Compares the values at one path: one each, or those of all elements of a list."""
        schema = self._resolve(schema)
        wrong = [f"{path or 'the response'} {whose} is not {self._name(schema)}: {value!r}"
                 for whose, values in (("of the golden file", goldens), ("of the master", answers))
                 for value in values if not self._is_legal(value, schema)]
        if wrong:
            return wrong
        if "properties" in schema:
            return self._compare_fields(goldens, answers, schema["properties"], path)
        if schema.get("type") == "array":
            return self._compare_elements(
                *([each for value in values for each in value] for values in (goldens, answers)),
                schema["items"], path + "[]")
        if schema.get("additionalProperties"):
            return self._compare_elements(
                *([each for value in values for each in value.values()]
                  for values in (goldens, answers)), schema["additionalProperties"], path + "{}")
        return []  # A scalar, or a free-form object such as hyperparameters.

    def _compare_elements(self, goldens, answers, schema, path):
        if bool(goldens) == bool(answers):
            return self._compare(goldens, answers, schema, path)
        if path in self.optional:
            return []
        return [f"{path}: the list of {'the golden file' if answers else 'the master'} is empty"]

    def _compare_fields(self, goldens, answers, properties, path):
        wrong = []
        for name in sorted(set().union(*goldens, *answers)):
            where = f"{path}.{name}".lstrip(".")
            # An unset message is null.
            ours, theirs = ([value[name] for value in values if value.get(name) is not None]
                            for values in (goldens, answers))
            if not ours and not theirs:
                continue
            if name not in properties:
                wrong.append(f"{where} is not a field of the API")
            elif ours and theirs:
                wrong += self._compare(ours, theirs, properties[name], where)
                if len(ours) == len(goldens) and len(theirs) < len(answers):
                    wrong += [f"{where} is not always present"] if where not in self.optional else []
            elif where not in self.optional:
                wrong.append(f"{where} is {'missing' if ours else 'not in the golden file'}")
        return wrong

    def _resolve(self, schema):
        while "$ref" in schema or "anyOf" in schema:
            if "anyOf" in schema:  # A message or null.
                schema = schema["anyOf"][0]
            else:
                schema = self.schemas[schema["$ref"].rpartition("/")[2]]
        if isinstance(schema.get("type"), list):  # A type or null.
            schema = {**schema, "type": schema["type"][0]}
        return schema

    @staticmethod
    def _name(schema):
        return f"one of {', '.join(schema['enum'])}" if "enum" in schema else schema.get("type")

    @staticmethod
    def _is_legal(value, schema):
        if "enum" in schema:
            return value in schema["enum"]
        return "type" not in schema or is_of(value, schema["type"])
