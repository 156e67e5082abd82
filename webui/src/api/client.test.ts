import { expect, test, vi } from "vitest";
import { api, unwrap } from "./client";

const answer = (body: string, init?: ResponseInit) =>
  vi.stubGlobal(
    "fetch",
    vi.fn(() => Promise.resolve(new Response(body, init))),
  );
const me = () => unwrap(api.GET("/api/v1/me"));

test("returns the message of a response", async () => {
  answer('{"user":{"id":1,"username":"ann"}}');
  expect((await me()).user?.username).toBe("ann");
});

test("throws an ApiError with the master's message and the request ID", async () => {
  const refusal = '{"error":{"code":16,"reason":"Unauthenticated","error":"sign in"}}';
  answer(refusal, { status: 401, headers: { "X-Request-Id": "r-1" } });
  const expected = { message: "sign in", status: 401, reason: "Unauthenticated", requestId: "r-1" };
  await expect(me()).rejects.toMatchObject(expected);
});

test("reports the HTTP status of a response that is not an API error", async () => {
  answer("<html>", { status: 502, statusText: "Bad Gateway" });
  await expect(me()).rejects.toMatchObject({ message: "the master returned HTTP 502 Bad Gateway" });
});

test("throws an ApiError when the master is unreachable", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("fetch failed")));
  await expect(me()).rejects.toMatchObject({ status: 0, requestId: "" });
});

test.each([
  [
    "det.api.v1.AgentService.DisableAgent needs the role ClusterAdmin for the cluster (permission UPDATE_AGENTS); ask an administrator of the cluster",
    "Only cluster admins can do this. Ask an administrator of the cluster.",
  ],
  [
    "det.api.v1.ExperimentService.KillExperiment needs the role Editor in workspace 1 (permission UPDATE_EXPERIMENT); ask an administrator of the workspace",
    "Only users with the role Editor in workspace 1 can do this. Ask an administrator of the workspace.",
  ],
  ["name: must not be empty", "name: must not be empty"],
])("says who can do what the master refuses: %s", async (message, shown) => {
  const body = JSON.stringify({ error: { code: 7, reason: "PermissionDenied", error: message } });
  answer(body, { status: 403, headers: { "X-Request-Id": "r-1" } });
  await expect(me()).rejects.toMatchObject({
    message: shown,
    original: shown === message ? "" : message,
  });
});
