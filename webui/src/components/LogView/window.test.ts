import { describe, expect, it } from "vitest";
import { logPath, readFilters, writeFilters } from "./filters";
import { append, findErrorEdge, EMPTY, MAX_LINES, findLine, prepend, type LogLine } from "./window";

const lines = (from: number, to: number): LogLine[] =>
  Array.from({ length: to - from }, (_, i) => ({ id: String(from + i), log: `${from + i}` }));
const ids = (list: readonly LogLine[]) => list.map((line) => Number(line.id));

describe("log window", () => {
  it("grows at both ends without duplicate lines", () => {
    const middle = append(EMPTY, lines(10, 20), false);
    const more = append(prepend(middle, lines(5, 12), true), lines(18, 22), false);
    expect(ids(more.lines)).toEqual(ids(lines(5, 22)));
    expect(more).toMatchObject({ hasStart: true, hasEnd: false });
  });

  it("limits its size and records which end it dropped", () => {
    const full = append(EMPTY, lines(1, MAX_LINES + 1), true);
    const late = append({ ...full, hasStart: true }, lines(MAX_LINES + 1, MAX_LINES + 11), false);
    expect(late.lines).toHaveLength(MAX_LINES);
    expect(ids(late.lines)[0]).toBe(11);
    expect(late).toMatchObject({ hasStart: false, hasEnd: true });
    const early = prepend(late, lines(1, 11), true);
    expect(ids(early.lines)[MAX_LINES - 1]).toBe(MAX_LINES);
    expect(early).toMatchObject({ hasStart: true, hasEnd: false });
  });
});

describe("positions in a log", () => {
  it("finds a line, or the next visible one, inside the window", () => {
    const some = append(EMPTY, lines(10, 20), false);
    expect(findLine(some, "12")).toBe(2);
    expect(findLine(some, "5")).toBe(-1);
    expect(findLine({ ...some, hasStart: true }, "5")).toBe(0);
    expect(findLine(some, "25")).toBe(-1);
    expect(findLine({ ...some, hasEnd: true }, "25")).toBe(9);
  });

  it("treats consecutive errors as one", () => {
    const level = "LOG_LEVEL_ERROR" as const;
    const some = lines(1, 9).map((line, i) => (i > 2 && i < 6 ? { ...line, level } : line));
    expect(findErrorEdge(some, "5", false)).toBe("6");
    expect(findErrorEdge(some, "5", true)).toBe("4");
    expect(findErrorEdge(some, "8", false)).toBe("8");
    expect(findErrorEdge(some.slice(3, 6), "5", false)).toBe("5");
  });
});

describe("filters", () => {
  it("round-trip through the address", () => {
    const filters = {
      level: "ERROR",
      rank: "3",
      text: "a&b",
      isPattern: true,
      since: "2026-01-01",
      until: "",
    };
    const params = writeFilters(new URLSearchParams("trial=7"), filters);
    expect(readFilters(params)).toEqual(filters);
    expect(params.get("trial")).toBe("7");
    expect(readFilters(new URLSearchParams("level=loud&rank=x"))).toMatchObject({
      level: "",
      rank: "",
    });
  });

  it("become an API query", () => {
    const filters = {
      level: "ERROR",
      rank: "0",
      text: "oom",
      isPattern: true,
      since: "",
      until: "soon",
    };
    expect(logPath("/api/v1/trials/4/logs", filters, { afterId: "9", limit: 10 })).toBe(
      "/api/v1/trials/4/logs?levels=LOG_LEVEL_ERROR&levels=LOG_LEVEL_CRITICAL&rankIds=0&searchText=oom&enableRegex=true&afterId=9&limit=10",
    );
  });
});
