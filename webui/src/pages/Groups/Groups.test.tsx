import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import groups from "@goldens/groups.json";
import type { Message, User } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { basicMode, showPage, viewer } from "@/testing/pages";
import users from "@goldens/users.json";
import Groups from "./Groups";

const [golden] = groups.answer.groups;
const group = (groupId: number, name: string, numMembers: number) =>
  copyGolden<Message["GroupSearchResult"]>(golden, { group: { groupId, name }, numMembers });
const user = (id: number, username: string, active = true) =>
  copyGolden<User>(users.answer.users[0], { id, username, active });
const show = (at = "", more = {}) =>
  showPage(Groups, "/admin/groups", `/admin/groups${at}`, {
    "POST /api/v1/groups/search": {
      groups: [group(1, "researchers", 3), group(2, "operators", 0)],
    },
    "GET /api/v1/users": { users: [user(1, "ann"), user(2, "bob"), user(3, "cy", false)] },
    ...more,
  });

test("lists groups with the number of their members", async () => {
  show();
  const row = await screen.findByRole("row", { name: /^researchers 3/ });
  expect(within(row).getByRole("link")).toHaveAttribute("href", "/admin/groups/1");
  expect(screen.getByText("2 groups")).toBeVisible();
});

test("creates a group with members and opens it", async () => {
  const post = "POST /api/v1/groups";
  const page = show("?do=create", { [post]: { group: { groupId: 5 } } });
  await userEvent.type(await screen.findByLabelText("Name"), " testers ");
  await userEvent.click(await screen.findByLabelText("bob"));
  expect(screen.queryByLabelText("cy")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  await vi.waitFor(() => expect(page.getBody(post)).toEqual({ name: "testers", addUsers: [2] }));
  await vi.waitFor(() => expect(page.router.state.location.pathname).toBe("/admin/groups/5"));
});

test("hides actions from users who may not change groups", async () => {
  show("?do=create", { ...viewer, "POST /api/v1/groups/search": { groups: [] } });
  expect(await screen.findByText("You are not a member of any group.")).toBeVisible();
  expect(screen.queryByRole("button", { name: "New group" })).toBeNull();
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("explains that groups have no effect in the mode without roles", async () => {
  show("", basicMode);
  expect(await screen.findByText(/ownership decides/)).toBeVisible();
});
