import { expect, it } from "vitest";
import { getShownProgress } from "./states";

it("shows no progress of experiments that were cut short, whose progress is complete", () => {
  expect(getShownProgress("STATE_RUNNING", 0.5)).toBe(0.5);
  expect(getShownProgress("STATE_COMPLETED", 1)).toBe(1);
  expect(getShownProgress("STATE_QUEUED", undefined)).toBe(0);
  expect(getShownProgress("STATE_ERROR", 1)).toBeUndefined();
  expect(getShownProgress("STATE_CANCELED", 1)).toBeUndefined();
  expect(getShownProgress("STATE_ERROR", 0.5)).toBe(0.5);
});
