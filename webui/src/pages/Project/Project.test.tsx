import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import golden from "@goldens/project.json";
import type { Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { showPage, type Answers } from "@/testing/pages";
import Project from "./Project";

const notes = [
  { name: "Plan", contents: "# Try" },
  { name: "Done", contents: "all" },
];
const project = copyGolden<Message["Project"]>(golden.answer.project, {
  id: 3,
  name: "nets",
  description: "",
  workspaceId: 7,
  workspaceName: "vision",
  notes,
});
const show = (at: string, more = {}) =>
  showPage(Project, "/projects/:id", `/projects/3${at}`, {
    "GET /api/v1/projects/3": { project },
    ...more,
  });

test("edits one note and keeps the others", async () => {
  const put = "PUT /api/v1/projects/3/notes";
  const page = show("?do=note-1", { [put]: {} });
  const text = await screen.findByLabelText("Text");
  await userEvent.clear(text);
  await userEvent.type(text, "some");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() =>
    expect(page.getBody(put)).toEqual({ notes: [notes[0], { name: "Done", contents: "some" }] }),
  );
});

test("adds a note to the current list and does not overwrite concurrent changes", async () => {
  const put = "PUT /api/v1/projects/3/notes";
  const get = "GET /api/v1/projects/3";
  const answers: Answers = { [get]: { project }, [put]: {} };
  const page = showPage(Project, "/projects/:id", "/projects/3?do=note-1", answers);
  const text = await screen.findByLabelText("Text");
  const now = (of: Message["Note"][]) => (answers[get] = { project: { ...project, notes: of } });
  now([{ name: "Done", contents: "more" }]);
  await userEvent.type(text, "!");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(await screen.findByText(/Someone else changed or deleted the note Done/)).toBeVisible();
  expect(page.getBody(put)).toBeUndefined();
  const other = { name: "Other", contents: "" };
  now([other, ...notes]);
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() =>
    expect(page.getBody(put)).toEqual({
      notes: [other, notes[0], { name: "Done", contents: "all!" }],
    }),
  );
});

test("sends only changed fields", async () => {
  const patch = "PATCH /api/v1/projects/3";
  const page = show("?do=edit", { [patch]: {} });
  await userEvent.type(await screen.findByLabelText("Description"), "What sees");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() => expect(page.getBody(patch)).toEqual({ description: "What sees" }));
});

test("explains why the built-in project cannot change", async () => {
  show("", { "GET /api/v1/projects/3": { project: { ...project, immutable: true } } });
  const button = await screen.findByRole("button", { name: "Move" });
  expect(button).toHaveAttribute("aria-disabled", "true");
  expect(button.title).toContain("Built-in project");
});
