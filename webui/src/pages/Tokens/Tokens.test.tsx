import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import golden from "@goldens/tokens.json";
import users from "@goldens/users.json";
import type { Message, User } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { showPage } from "@/testing/pages";
import Tokens, { getTokenStatus } from "./Tokens";

const tokenInfo = [
  copyGolden<Message["TokenInfo"]>(golden.answer.tokenInfo[0], {
    id: 4,
    expiry: new Date(Date.now() + 86_400_000).toISOString(),
  }),
];
const answers = {
  "GET /api/v1/users": {
    users: [copyGolden<User>(users.answer.users[0], { id: 1, username: "ann" })],
  },
  "GET /api/v1/tokens": { tokenInfo },
};
const show = (at: string, more = {}) =>
  showPage(Tokens, "/admin/tokens", `/admin/tokens${at}`, { ...answers, ...more });

test("shows a new token once, and keeps it neither in the address nor on the page", async () => {
  const page = show("?do=create", { "POST /api/v1/tokens": { token: "s3cret", tokenId: 5 } });
  await userEvent.type(await screen.findByLabelText("Description"), "ci");
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  expect(await screen.findByText("s3cret")).toBeInTheDocument();
  expect(page.getBody("POST /api/v1/tokens")).toEqual({
    description: "ci",
    lifespan: "720h",
    role: "",
  });
  await vi.waitFor(() => expect(page.router.state.location.search).toBe(""));
  await userEvent.click(screen.getByRole("button", { name: "Done" }));
  expect(screen.queryByText("s3cret")).toBeNull();
});

test("lists the user's own tokens, and all tokens when an admin requests them", async () => {
  const page = show("");
  await screen.findByText("nightly");
  const queries = () => page.calls.filter(({ what }) => what === "GET /api/v1/tokens");
  expect(queries()[0]?.query).toContain("username=ann");
  await userEvent.click(screen.getByLabelText("Show all users"));
  await screen.findByRole("columnheader", { name: "User" });
  await vi.waitFor(() => expect(queries()[1]?.query).not.toContain("username"));
});

test("revokes a token after a confirmation", async () => {
  vi.spyOn(window, "confirm").mockReturnValue(true);
  const page = show("", { "PATCH /api/v1/tokens/4": {} });
  await userEvent.click(await screen.findByRole("button", { name: "Revoke" }));
  await vi.waitFor(() =>
    expect(page.getBody("PATCH /api/v1/tokens/4")).toEqual({ setRevoked: true }),
  );
});

test("formats the scope of a token", () => {
  const now = Date.parse("2026-01-02T00:00:00Z");
  expect(getTokenStatus({ expiry: "2026-01-01T00:00:00Z" }, now)).toBe("expired");
  expect(getTokenStatus({ expiry: "2026-01-03T00:00:00Z" }, now)).toBe("valid");
  expect(getTokenStatus({}, now)).toBe("valid");
  expect(getTokenStatus({ revoked: true }, now)).toBe("revoked");
});

test("edits a token's description", async () => {
  const page = show("", { "PATCH /api/v1/tokens/4": {} });
  await userEvent.click(await screen.findByRole("button", { name: "Edit" }));
  expect(page.router.state.location.search).toBe("?do=edit-4");
  const field = await screen.findByLabelText("Description");
  expect(field).toHaveValue("nightly");
  await userEvent.type(field, " build");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() =>
    expect(page.getBody("PATCH /api/v1/tokens/4")).toEqual({ description: "nightly build" }),
  );
});
