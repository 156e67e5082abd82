import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import golden from "@goldens/models.json";
import type { Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { showPage, viewer } from "@/testing/pages";
import Models from "./Models";

const models = [
  copyGolden<Message["Model"]>(golden.answer.models[0], { workspaceId: 7 }),
  copyGolden<Message["Model"]>(golden.answer.models[0], {
    id: 2,
    name: "old",
    workspaceId: 7,
    labels: [],
    archived: true,
  }),
];
const answers = { "GET /api/v1/models": { models } };

test("lists and searches models, archived ones on request", async () => {
  showPage(Models, "/models", "/models", answers);
  expect(await screen.findByRole("link", { name: "classifier" })).toHaveAttribute(
    "href",
    "/models/classifier",
  );
  expect(screen.queryByRole("link", { name: "old" })).toBeNull();
  await userEvent.click(screen.getByLabelText("Show archived"));
  expect(screen.getByRole("link", { name: "old" })).toBeInTheDocument();
  await userEvent.type(screen.getByLabelText("Search models"), "goo");
  expect(screen.getByText("1 model")).toBeInTheDocument();
});

test("creates a model in a workspace that the user can edit, and opens it", async () => {
  const post = { model: { id: 3, name: "net" } };
  const page = showPage(Models, "/models", "/models", {
    ...answers,
    "POST /api/v1/models": post,
  });
  const button = await screen.findByRole("button", { name: "New model" });
  await vi.waitFor(() => expect(button).toHaveAttribute("aria-disabled", "false"));
  await userEvent.click(button);
  await userEvent.type(await screen.findByLabelText("Name"), "net");
  await userEvent.type(screen.getByLabelText("Labels"), "a, b");
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  await vi.waitFor(() => expect(page.router.state.location.pathname).toBe("/models/net"));
  expect(page.getBody("POST /api/v1/models")).toEqual({
    name: "net",
    description: "",
    workspaceId: 7,
    labels: ["a", "b"],
  });
});

test("shows a refusal with its request ID in the dialog", async () => {
  showPage(Models, "/models", "/models?do=create", {
    ...answers,
    "POST /api/v1/models": new Error("model net exists already"),
  });
  await userEvent.type(await screen.findByLabelText("Name"), "net");
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  expect(await screen.findByText("model net exists already")).toBeInTheDocument();
  expect(screen.getByText("Request ID r-1")).toBeInTheDocument();
});

test("disables creation without a role and explains it", async () => {
  showPage(Models, "/models", "/models?do=create", { ...answers, ...viewer });
  const button = await screen.findByRole("button", { name: "New model" });
  expect(button).toHaveAttribute("aria-disabled", "true");
  expect(button.title).toContain("create model registry");
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("shows the next step when the registry is empty", async () => {
  showPage(Models, "/models", "/models", { "GET /api/v1/models": { models: [] } });
  expect(await screen.findByText(/No models yet/)).toBeVisible();
  expect(screen.getByText(/det model create/)).toBeVisible();
});
