import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import audit from "@goldens/audit.json";
import type { Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { showPage } from "@/testing/pages";
import Audit from "./Audit";
import { toIsoTime } from "./useAudit";
import { getTargetPath, shortMethod } from "./format";

const list = "GET /api/v1/master/audit";
const record = (id: number, more: Message["AuditRecord"] = {}) =>
  copyGolden<Message["AuditRecord"]>(audit.answer.records[0], {
    id: String(id),
    caller: "ann",
    userId: 1,
    code: "OK",
    requestId: `r-${id}`,
    method: "det.api.v1.UserService.PostUser",
    target: "username bob",
    ...more,
  });

test("links a target to its page", () => {
  expect(getTargetPath("experiment 7")).toBe("/experiments/7");
  expect(getTargetPath("model classifier")).toBe("/models/classifier");
  expect(getTargetPath("workspace vision")).toBeUndefined();
  expect(getTargetPath("name vision")).toBeUndefined();
  expect(getTargetPath(undefined)).toBeUndefined();
  expect(shortMethod("det.api.v1.UserService.PostUser")).toBe("UserService.PostUser");
});

test("sends the filter and keeps it in the address", async () => {
  const page = showPage(Audit, "/admin/audit", "/admin/audit?username=ann", {
    [list]: { records: [record(5)] },
  });
  await screen.findByRole("row", { name: /UserService.PostUser/ });
  await userEvent.type(screen.getByLabelText("Method"), "UserService.{Enter}");
  await vi.waitFor(() =>
    expect(page.router.state.location.search).toBe("?username=ann&method=UserService."),
  );
  await vi.waitFor(() => {
    const query = new URLSearchParams(page.calls[page.calls.length - 1]?.query);
    expect(query.get("method")).toBe("UserService.");
    expect(query.get("username")).toBe("ann");
  });
});

test("reads all further pages from the end of the previous one", async () => {
  const page = showPage(Audit, "/admin/audit", "/admin/audit", {
    [list]: { records: [record(5)], nextBeforeId: "5" },
  });
  // The list is short, so its end is visible at once.
  await vi.waitFor(() => {
    const queries = page.calls.filter(({ what }) => what === list).map(({ query }) => query);
    expect(queries[1]).toContain("beforeId=5");
  });
});

test("highlights refused calls", async () => {
  showPage(Audit, "/admin/audit", "/admin/audit", {
    [list]: { records: [record(5, { code: "PERMISSION_DENIED" })], nextBeforeId: "0" },
  });
  expect(await screen.findByText("PERMISSION_DENIED")).toBeVisible();
});

test("converts times from the local time zone", () => {
  expect(toIsoTime("2026-01-02T03:04")).toBe(new Date(2026, 0, 2, 3, 4).toISOString());
  expect(toIsoTime("")).toBeUndefined();
  expect(toIsoTime("soon")).toBeUndefined();
});
