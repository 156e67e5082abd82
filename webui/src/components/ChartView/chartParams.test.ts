import { expect, it } from "vitest";
import { readChart, writeAxis, writeChart } from "./chartParams";

const params = (text: string) => new URLSearchParams(text);

it("reads the written view of a chart, and not that of another chart", () => {
  const hidden = new Set(["7", "a,b"]);
  const view = { isLog: true, weight: 0.6, hidden, zoom: [1.5, 20] as const };
  const written = writeChart(params("metric=x"), "training.loss,1", view);
  const read = params(written.toString());
  expect(readChart(read, "training.loss,1")).toEqual(view);
  expect(readChart(read, "training.acc")).toEqual({ ...view, isLog: false, weight: 0 });
  expect(read.get("metric")).toBe("x");
});

it("leaves out default values", () => {
  const written = writeChart(params("log=a,b&smooth=a:0.5&zoom=1..2&hide=3"), "a", {
    isLog: false,
    weight: 0,
    hidden: new Set<string>(),
    zoom: undefined,
  });
  expect(written.toString()).toBe("log=b");
});

it("drops the zoom when the axis changes", () => {
  expect(writeAxis(params("zoom=1..2&log=a"), "time").toString()).toBe("log=a&x=time");
});

it("accepts malformed addresses", () => {
  const view = readChart(params("zoom=9..1&smooth=a:7,:,b&log=%25,&hide="), "a");
  expect(view).toEqual({ isLog: false, weight: 0, hidden: new Set() });
});
