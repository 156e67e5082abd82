import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";
import { beforeEach, expect, test, vi } from "vitest";
import { session } from "@/api/session";
import SignIn from "./SignIn";

beforeEach(() => session.end());

async function signIn(next: string, answer: Response) {
  const fetch = vi.fn<(request: Request) => Promise<Response>>(() => Promise.resolve(answer));
  vi.stubGlobal("fetch", fetch);
  const router = createMemoryRouter(
    [
      { path: "/sign-in", Component: SignIn },
      { path: "*", element: <></> },
    ],
    {
      initialEntries: [`/sign-in?next=${encodeURIComponent(next)}`],
    },
  );
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
  await userEvent.type(screen.getByLabelText("Username"), "ann");
  await userEvent.type(screen.getByLabelText("Password"), "Secret123");
  await userEvent.click(screen.getByRole("button", { name: "Sign in" }));
  return { fetch, router };
}

test("signs in with a cookie and opens the requested page", async () => {
  const { fetch, router } = await signIn("/experiments/7?tab=logs", Response.json({}));
  const request = fetch.mock.calls[0]?.[0];
  expect(request?.headers.get("X-Det-Session")).toBe("cookie");
  expect(await request?.json()).toEqual({ username: "ann", password: "Secret123" });
  await vi.waitFor(() => expect(router.state.location.pathname).toBe("/experiments/7"));
  expect(router.state.location.search).toBe("?tab=logs");
  expect(session.isOpen()).toBe(true);
});

test("leaves the dashboard for the service of a task", async () => {
  const replace = vi.fn();
  vi.stubGlobal("location", Object.assign({}, window.location, { replace }));
  await signIn("/proxy/1.2:8000/lab?a=b", Response.json({}));
  await vi.waitFor(() => expect(replace).toHaveBeenCalledWith("/proxy/1.2:8000/lab?a=b"));
});

test.each(["//elsewhere.example", "https://elsewhere.example", "/\\elsewhere.example"])(
  "does not redirect to %s",
  async (next) => {
    const { router } = await signIn(next, Response.json({}));
    await vi.waitFor(() => expect(router.state.location.pathname).toBe("/"));
  },
);

test.each(["/\t/elsewhere.example", "/.//elsewhere.example", "/x/..//elsewhere.example"])(
  "opens %j as a page of the dashboard",
  async (next) => {
    const { router } = await signIn(next, Response.json({}));
    await vi.waitFor(() => expect(router.state.location.pathname).toBe("/elsewhere.example"));
  },
);

test("shows the master's message of a refusal", async () => {
  const error = { code: 7, reason: "PermissionDenied", error: "wrong user or password" };
  await signIn("/", Response.json({ error }, { status: 403, headers: { "X-Request-Id": "r-1" } }));
  expect(await screen.findByRole("alert")).toHaveTextContent("wrong user or password");
  expect(screen.getByText("Request ID r-1")).not.toBeVisible();
  await userEvent.click(screen.getByText("Details"));
  expect(screen.getByText("Request ID r-1")).toBeVisible();
  expect(session.isOpen()).toBe(false);
});
