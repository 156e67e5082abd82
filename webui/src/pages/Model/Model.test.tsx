import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import golden from "@goldens/versions.json";
import type { Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { showPage, viewer } from "@/testing/pages";
import Model from "./Model";

const model = copyGolden<Message["Model"]>(golden.answer.model, { workspaceId: 7 });
const [version] = golden.answer.modelVersions;
const training = copyGolden<Message["CheckpointTrainingMetadata"]>(version?.checkpoint.training, {
  trialId: 5,
});
const checkpoint = copyGolden<Message["Checkpoint"]>(version?.checkpoint, { training });
const modelVersions = [copyGolden<Message["ModelVersion"]>(version, { checkpoint })];
const versions = "GET /api/v1/models/classifier/versions";
const answers = { [versions]: { model, modelVersions } };
const show = (at: string, more = {}) =>
  showPage(Model, "/models/:name", `/models/classifier${at}`, { ...answers, ...more });

test("links a version to its trial", async () => {
  show("");
  expect(await screen.findByRole("link", { name: "trial 5" })).toHaveAttribute("href", "/trials/5");
  expect(screen.getByRole("heading", { name: "Why" })).toBeInTheDocument();
});

test("registers the checkpoint in the address", async () => {
  const post = "POST /api/v1/models/classifier/versions";
  const page = show("?do=register&checkpoint=abc", { [post]: { modelVersion: { version: 2 } } });
  await userEvent.click(await screen.findByRole("button", { name: "Register" }));
  await vi.waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(page.getBody(post)).toMatchObject({ checkpointUuid: "abc" });
});

test("disables changes of an archived model with the reason", async () => {
  show("", { [versions]: { model: { ...model, archived: true }, modelVersions } });
  const button = await screen.findByRole("button", { name: "Register version" });
  expect(button).toHaveAttribute("aria-disabled", "true");
  expect(screen.getByRole("button", { name: "Unarchive" })).toBeEnabled();
});

test("confirms a deletion and names what is lost", async () => {
  const ask = vi.spyOn(window, "confirm").mockReturnValue(false);
  const page = show("");
  await userEvent.click(await screen.findByRole("button", { name: "Delete" }));
  expect(ask.mock.calls[0]?.[0]).toContain("1 version?");
  expect(page.calls.some(({ what }) => what.startsWith("DELETE"))).toBe(false);
});

test("disables all actions for a viewer", async () => {
  show("", viewer);
  await screen.findByRole("link", { name: "trial 5" });
  expect(screen.queryByRole("button", { name: "Delete" })).toBeNull();
});

test("edits metadata as JSON and sends only objects", async () => {
  const patch = "PATCH /api/v1/models/classifier";
  const page = show("?do=edit", { [patch]: { model } });
  const field = await screen.findByLabelText("Metadata");
  expect(JSON.parse((field as HTMLTextAreaElement).value)).toEqual(model.metadata);
  await userEvent.clear(field);
  await userEvent.type(field, "[[1]");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(await screen.findByText(/must be a JSON object/)).toBeInTheDocument();
  await userEvent.clear(field);
  await userEvent.type(field, "{{");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(await screen.findByText(/is not valid JSON/)).toBeInTheDocument();
  expect(page.getBody(patch)).toBeUndefined();
  await userEvent.type(field, '"team": 7}');
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() => expect(page.getBody(patch)).toEqual({ metadata: { team: 7 } }));
});
