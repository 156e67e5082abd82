import { afterEach, expect, it, vi } from "vitest";
import { preload } from "./preload";

afterEach(() => vi.useRealTimers());

it("loads one part after the other when the browser is idle, also after a failure", async () => {
  vi.useFakeTimers();
  const loads: string[] = [];
  for (const name of ["a", "b", "c"]) {
    preload(() => {
      loads.push(name);
      return name === "a" ? Promise.reject(new Error("no network")) : Promise.resolve();
    });
  }
  expect(loads).toEqual([]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(loads).toEqual(["a"]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(loads).toEqual(["a", "b", "c"]);
});
