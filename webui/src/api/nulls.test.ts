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

test("keeps the nulls of policies, which the user edits and saves", () => {
  const configPolicies = { invariant_config: { description: null } };
  expect(dropNulls({ configPolicies })).toEqual({ configPolicies });
});

test("drops unset members of the reports in a list of metrics", () => {
  const message = { metrics: [{ trialId: 1, endTime: null, metrics: { loss: null } }] };
  expect(dropNulls(message)).toEqual({ metrics: [{ trialId: 1, metrics: { loss: null } }] });
});
