import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import { createMemoryRouter, Outlet, RouterProvider } from "react-router";
import { vi } from "vitest";
import me from "@goldens/me.json";
import master from "@goldens/master.json";
import permissions from "@goldens/permissions.json";
import roles from "@goldens/roles.json";
import workspaces from "@goldens/workspaces.json";
import type { Message, User } from "@/api/types";
import { copyGolden } from "./goldens";

/**
 * The master's responses by method and path: "GET /api/v1/models". An Error is a refusal, a string the events
 * of a stream.
 */
export type Answers = Record<string, object | Error | string>;

/** A call of the page. */
export interface Call {
  what: string;
  body: unknown;
  query: string;
}

const [assignment] = permissions.answer.assignments;
const [workspace] = workspaces.answer.workspaces;

/** A role with its permissions, by name. */
export const findRole = (name: string) =>
  copyGolden<Message["Role"]>(roles.answer.roles.find((each) => each.name === name));

/** The caller's permissions: those of a role in a workspace, or in the cluster. */
export function holding(role: Message["Role"], workspaceId?: number) {
  const held = copyGolden<Message["RoleAssignmentSummary"]>(assignment, {
    roleId: role.roleId ?? 0,
    scopeCluster: workspaceId === undefined,
    scopeWorkspaceIds: workspaceId === undefined ? [] : [workspaceId],
  });
  return { "GET /api/v1/permissions/summary": { roles: [role], assignments: [held] } };
}

/** The response of a master without roles. */
export const basicMode = { "GET /api/v1/master": { ...master.answer, rbacEnabled: false } };

const every = {
  "GET /api/v1/me": { user: copyGolden<User>(me.answer.user, { id: 1, username: "ann" }) },
  "GET /api/v1/master": master.answer,
  ...holding(findRole("ClusterAdmin")),
  "GET /api/v1/workspaces": {
    workspaces: [copyGolden<Message["Workspace"]>(workspace, { id: 7, name: "vision" })],
  },
};

/** jsdom has no layout, and a list without height shows no rows. */
export function giveSize() {
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(600);
  vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(1000);
}

/** Renders a page at an address, for a cluster admin unless `answers` say otherwise. */
export function showPage(Page: React.ComponentType, route: string, at: string, answers: Answers) {
  const calls: Call[] = [];
  giveSize();
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname, search } = new URL(request.url);
    const what = `${request.method} ${pathname}`;
    const text = await request.text();
    calls.push({ what, query: search, body: text ? (JSON.parse(text) as unknown) : undefined });
    const answer = { ...every, ...answers }[what];
    if (answer === undefined || answer instanceof Error) {
      const error = { reason: "FailedPrecondition", error: answer?.message ?? `no ${what}` };
      const headers = { "X-Request-Id": "r-1" };
      return Response.json({ error }, { status: 400, headers });
    }
    return typeof answer === "string" ? new Response(answer) : Response.json(answer);
  });
  const Frame = () => <Outlet context={{ setCrumbs: () => undefined }} />;
  const children = [
    { path: route, Component: Page },
    { path: "*", element: <p>elsewhere</p> },
  ];
  const router = createMemoryRouter([{ element: <Frame />, children }], { initialEntries: [at] });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
  const getBody = (what: string) => calls.find((call) => call.what === what)?.body;
  return { router, calls, getBody };
}

/** The permissions of a Viewer of workspace 7. */
export const viewer: Answers = holding(findRole("Viewer"), 7);
