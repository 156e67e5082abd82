import { useState } from "react";
import { act, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { gzip } from "pako";
import { describe, expect, it, vi } from "vitest";
import names from "@goldens/metricNames.json";
import sample from "@goldens/sample.json";
import trials from "@goldens/trials.json";
import type { Series } from "@/charts/series";
import { describeChange, readText, unpack } from "@/components/Code/files";
import { readTar } from "@/tar";
import { copyGolden } from "@/testing/goldens";
import { showPage, viewer, type Answers } from "@/testing/pages";
import { getVerbs } from "./Actions";
import { addToCurves, firstMetric, toSeries } from "./curves";
import { Fork } from "./Fork";
import { Notes } from "./Notes";
import { Overview } from "./Overview";
import { getHparamNames, getHparam } from "./Trials";

// jsdom has no canvas.
vi.mock("@/charts/LineChart", () => ({ LineChart: () => null }));

/** A tar entry: a header of 512 bytes, then the content in blocks of 512 bytes. */
function entry(path: string, content: string, type = "0"): Uint8Array {
  const bytes = new Uint8Array(512 + Math.ceil(content.length / 512) * 512);
  const put = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at);
  put(0, path.slice(0, 100));
  put(124, content.length.toString(8).padStart(11, "0"));
  put(156, type);
  put(257, "ustar");
  put(512, content);
  return bytes;
}

const join = (...parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));

describe("context directory", () => {
  const long = "a/".repeat(80) + "deep.py";
  const archive = join(
    entry("./train.py", "print(1)\n"),
    entry("model", "", "5"),
    entry("././@LongLink", long, "L"),
    entry(long, "deep"),
    entry("data.bin", "\0\x01"),
    new Uint8Array(1024),
  );

  it("unpacks to its files", () => {
    const files = readTar(archive);
    expect(files.map((file) => file.path)).toEqual([long, "data.bin", "train.py"]);
    expect(files.map(readText)).toEqual(["deep", undefined, "print(1)\n"]);
  });

  it("compares text and binary files", () => {
    const file = (...content: number[]) => ({ path: "a", content: Uint8Array.from(content) });
    expect(describeChange(file(0, 1), file(0, 1))).toBe("");
    expect(describeChange(file(0, 1), file(0, 2))).toBe("(differs)");
    expect(describeChange(file(0), undefined)).toBe("(only in this experiment)");
  });

  it("accepts zeros after the archive", () => {
    const packed = join(gzip(archive), new Uint8Array(700));
    expect(unpack(btoa(String.fromCharCode(...packed)))).toHaveLength(3);
  });
});

it("offers the actions that a state allows", () => {
  expect(getVerbs("RUNNING", false)).toEqual(["pause", "cancel", "kill"]);
  expect(getVerbs("PAUSED", false)).toEqual(["activate", "cancel", "kill"]);
  expect(getVerbs("STOPPING_CANCELED", false)).toEqual(["kill"]);
  expect(getVerbs("COMPLETED", true)).toEqual(["unarchive"]);
  expect(getVerbs("DELETING", false)).toEqual([]);
});

it("converts sampled trials to curves with gaps for values that are not numbers", () => {
  const [trial] = sample.answer.trials;
  const columns = copyGolden(trial?.columns, { batches: [1, 2], values: [2, "NaN"] as never });
  const [series] = toSeries([copyGolden(trial, { trialId: 7, columns })]);
  expect(series).toMatchObject({ id: "7", label: "trial 7", rank: 0 });
  expect([...(series ? Array.from(series.y) : [])]).toEqual([2, NaN]);
  expect([...(series?.invalid ?? [])]).toEqual([[2, NaN]]);
});

it("adds reports to curves; a later report replaces a NaN at the same batches", () => {
  const known: Series[] = [
    {
      id: "7",
      label: "trial 7",
      rank: 0,
      x: [1, 2],
      y: [NaN, NaN],
      invalid: new Map([
        [1, NaN],
        [2, NaN],
      ]),
    },
  ];
  const metric = { group: "validation", name: "loss" };
  const report = (batches: number, loss: unknown) => ({
    trialId: 7,
    group: "validation",
    batches,
    values: { loss },
  });
  const [next] = addToCurves(known, [report(2, 0.5), report(3, "-Infinity")], metric);
  expect(Array.from(next?.y ?? [])).toEqual([NaN, 0.5, NaN]);
  expect([...(next?.invalid ?? [])]).toEqual([
    [1, NaN],
    [3, -Infinity],
  ]);
});

it("shows the searcher metric first, before the first validation that of training, then losses", () => {
  const of = (text: string) => {
    const [group = "", name = ""] = text.split(" ");
    return copyGolden<{ group: string; name: string }>(names.answer.metricNames[0], {
      group,
      name,
    });
  };
  const first = (...list: string[]) => firstMetric(list.map(of), "error");
  const all = [
    "validation error",
    "training error",
    "validation loss",
    "training loss",
    "validation acc",
    "training gpu/mem_gb",
    "custom loss",
  ];
  // Without those before it, each is the first, wherever it stands.
  for (const [i, text] of all.entries()) expect(first(...all.slice(i).reverse())).toEqual(of(text));
});

it("lists hyperparameters by path", () => {
  const config = {
    hyperparameters: { lr: { type: "log" }, net: { depth: { type: "int" }, act: "relu" } },
  };
  expect(getHparamNames({ config: config as never })).toEqual(["lr", "net.act", "net.depth"]);
  expect(getHparam({ net: { depth: 3 } }, "net.depth")).toBe(3);
  expect(getHparam(trials.answer.trials[0]?.hparams, "lr")).toBe(0.125);
  expect(getHparam({ net: { depth: 3 } }, "net.width")).toBeUndefined();
});

it.each([
  [0, false],
  [7, true],
])("links to the experiment that it was forked from (%d)", (forkedFrom, isShown) => {
  showPage(() => <Overview experiment={{ id: 1, forkedFrom }} />, "/", "/", {});
  expect(screen.queryByText("Forked from") !== null).toBe(isShown);
  expect(screen.queryByRole("link", { name: "7" }) !== null).toBe(isShown);
});

it("asks before it overwrites concurrent changes of the notes", async () => {
  const patch = "PATCH /api/v1/experiments/1";
  let change: (notes: string) => void = () => undefined;
  const page = showPage(
    () => {
      const [notes, setNotes] = useState("mine");
      change = setNotes;
      return <Notes experiment={{ id: 1, notes }} />;
    },
    "/",
    "/",
    { [patch]: {} },
  );
  await vi.waitFor(() =>
    expect(screen.getByRole("button", { name: "Edit" })).toHaveAttribute("aria-disabled", "false"),
  );
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  act(() => change("theirs"));
  await userEvent.type(screen.getByLabelText("Notes (Markdown)"), "!");
  const confirm = vi.spyOn(window, "confirm").mockReturnValueOnce(false).mockReturnValue(true);
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(confirm.mock.calls[0]?.[0]).toMatch(/^Someone else changed the notes/);
  expect(page.getBody(patch)).toBeUndefined();
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() => expect(page.getBody(patch)).toEqual({ notes: "mine!" }));
});

describe("Fork", () => {
  const post = "POST /api/v1/experiments";
  const show = (answers: Answers) =>
    showPage(() => <Fork experiment={{ id: 1, originalConfig: "name: a\n" }} />, "/", "/", answers);

  it("shows validation errors and disables Start", async () => {
    show({ [post]: new Error("searcher: missing") });
    expect(await screen.findByText("searcher: missing")).toBeInTheDocument();
    expect(screen.getByText("Request ID r-1")).toBeInTheDocument();
    expect(screen.getByRole("button", { name: "Start" })).toBeDisabled();
  });

  it("creates a valid experiment and opens it", async () => {
    const { router } = show({ [post]: { experiment: { id: 8 } } });
    expect(await screen.findByText("Configuration is valid.")).toBeInTheDocument();
    await vi.waitFor(() => expect(screen.getByRole("button", { name: "Start" })).toBeEnabled());
    await userEvent.click(screen.getByRole("button", { name: "Start" }));
    await vi.waitFor(() => expect(router.state.location.pathname).toBe("/experiments/8"));
  });

  it("disables Start without the permission to create experiments", async () => {
    show({ ...viewer, [post]: { experiment: { id: 8 } } });
    expect(await screen.findByText("Configuration is valid.")).toBeInTheDocument();
    const start = screen.getByRole("button", { name: "Start" });
    expect(start).toBeDisabled();
    expect(start.title).toMatch(/^Requires the permission "create experiment" in a workspace/);
  });
});
