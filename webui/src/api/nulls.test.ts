import { expect, test } from "vitest";
import { dropNulls } from "./nulls";

test("drops unset members, and keeps the nulls of free-form members", () => {
  const message = {
    id: 7,
    endTime: null,
    trials: [{ bestValidation: null, id: 1 }],
    config: { description: null },
  };
  expect(dropNulls(message)).toEqual({ id: 7, trials: [{ id: 1 }], config: { description: null } });
});
