import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import golden from "@goldens/models.json";
import type { Message } from "@/api/types";
import { like } from "@/testing/goldens";
import { showPage, viewer } from "@/testing/pages";
import Models from "./Models";

const models = [
  like<Message["Model"]>(golden.answer.models[0], { workspaceId: 7 }),
  like<Message["Model"]>(golden.answer.models[0], {
    id: 2,
    name: "old",
    workspaceId: 7,
    labels: [],
    archived: true,
  }),
];
const answers = { "GET /api/v1/models": { models } };

test("models are listed and searched; archived ones when one asks for them", async () => {
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

test("a new one is made where its maker is an Editor, and shown", async () => {
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
  expect(page.bodyOf("POST /api/v1/models")).toEqual({
    name: "net",
    description: "",
    workspaceId: 7,
    labels: ["a", "b"],
  });
});

test("a refusal stays in the dialog, with the request's id", async () => {
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
  expect(button.title).toContain("Editor");
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("an empty registry says what to do", async () => {
  showPage(Models, "/models", "/models", { "GET /api/v1/models": { models: [] } });
  expect(await screen.findByText(/No models yet/)).toBeVisible();
  expect(screen.getByText(/det model create/)).toBeVisible();
});
