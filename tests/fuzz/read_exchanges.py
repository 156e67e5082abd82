"""Writes the requests of tests/contract/exchanges.json as seeds of gateway_fuzz."""

import json
import sys


def main() -> None:
    exchanges_path, out_path = sys.argv[1:]
    with open(exchanges_path, encoding="utf-8") as file:
        exchanges = json.load(file)
    seeds = []
    for step in exchanges["client"] + exchanges["task"]:
        body = step.get("body", "")
        text = body if isinstance(body, str) else json.dumps(body)
        seeds.append(f"{step['verb']} {step['path']}\n{text}")
    with open(out_path, "w", encoding="utf-8") as file:
        file.write("%%\n".join(seeds))


if __name__ == "__main__":
    main()
