import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import golden from "@goldens/template.json";
import workspaces from "@goldens/workspaces.json";
import type { Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { findSyntaxProblems } from "@/components/YamlEditor/problems";
import { showPage, viewer, type Answers } from "@/testing/pages";
import Template from "./Template";

const read = "GET /api/v1/templates/small";
// Validates with validateOnly, saves without.
const put = "PUT /api/v1/templates/small";
const show = (more = {}) =>
  showPage(Template, "/admin/templates/:name", "/admin/templates/small", {
    [read]: {
      template: copyGolden<Message["Template"]>(golden.answer.template, {
        yaml: "max_restarts: 1\n",
      }),
    },
    [put]: {},
    ...more,
  });

test("reports YAML errors with their line", () => {
  expect(findSyntaxProblems("a: 1\n")).toEqual([]);
  const [problem] = findSyntaxProblems("a: 1\nb: [\n");
  expect(problem).toMatch(/^\d+: /);
});

test("shows the master's validation errors", async () => {
  const message = 'template small:1: max_restarts: expected an integer >= 0, found "x"';
  show({ [put]: new Error(message) });
  expect(await screen.findByText(message)).toBeVisible();
  expect(screen.getByLabelText("Template (YAML)")).toHaveAttribute("aria-invalid", "true");
});

test("saves a valid template unchanged", async () => {
  const page = show();
  const saved = () => page.calls.filter(({ what, query }) => what === put && query === "");
  const editor = await screen.findByLabelText("Template (YAML)");
  await screen.findByText("Template is valid.");
  await userEvent.type(editor, "# why");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() =>
    expect(saved().map(({ body }) => body)).toEqual([
      { name: "small", yaml: "max_restarts: 1\n# why" },
    ]),
  );
});

test("does not save invalid YAML", async () => {
  const page = show();
  await userEvent.type(await screen.findByLabelText("Template (YAML)"), "b: {{");
  const save = screen.getByRole("button", { name: "Save" });
  expect(save).toHaveAttribute("aria-disabled", "true");
  await userEvent.click(save);
  expect(page.calls.some(({ what, query }) => what === put && query === "")).toBe(false);
});

test("is read-only for a viewer", async () => {
  show(viewer);
  expect(await screen.findByLabelText("Template (YAML)")).toHaveAttribute("readonly");
  expect(screen.queryByRole("button", { name: "Save" })).toBeNull();
});

test("shows the template's workspace and moves the current text to another one", async () => {
  const vision = copyGolden<Message["Workspace"]>(workspaces.answer.workspaces[0], {
    id: 7,
    name: "vision",
    archived: false,
  });
  const ofYaml = (yaml: string) => ({
    template: copyGolden<Message["Template"]>(golden.answer.template, { yaml, workspaceId: 7 }),
  });
  const answers: Answers = {
    [read]: ofYaml("max_restarts: 1\n"),
    [put]: {},
    "GET /api/v1/workspaces": {
      workspaces: [vision, { ...vision, id: 8, name: "speech" }],
    },
  };
  const page = showPage(Template, "/admin/templates/:name", "/admin/templates/small", answers);
  expect(await screen.findByRole("link", { name: "vision" })).toHaveAttribute(
    "href",
    "/workspaces/7",
  );
  answers[read] = ofYaml("max_restarts: 2\n"); // Another user changed it meanwhile.
  await userEvent.click(screen.getByRole("button", { name: "Move" }));
  expect(await screen.findByLabelText("Destination workspace")).toHaveTextContent(/^speech$/);
  await userEvent.click(screen.getAllByRole("button", { name: "Move" }).at(-1) as HTMLElement);
  const saved = () => page.calls.filter(({ what, query }) => what === put && query === "");
  await vi.waitFor(() =>
    expect(saved().map(({ body }) => body)).toEqual([
      { name: "small", yaml: "max_restarts: 2\n", workspaceId: 8 },
    ]),
  );
});
