import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import golden from "@goldens/webhook.json";
import type { Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { showPage } from "@/testing/pages";
import Webhook from "./Webhook";

const webhook = copyGolden<Message["Webhook"]>(golden.answer.webhook, { id: 2, workspaceId: 7 });
const deliveries = [
  {
    id: "9",
    eventId: "e-9",
    state: "STATE_FAILED",
    attempts: 12,
    error: "status 500",
    eventData: { experiment: { id: 4, name: "mnist" } },
  },
  { id: "8", eventId: "e-8", state: "STATE_DELIVERED", attempts: 1 },
];
const show = (more = {}) =>
  showPage(Webhook, "/admin/webhooks/:id", "/admin/webhooks/2", {
    "GET /api/v1/webhooks/2": { webhook },
    "GET /api/v1/webhooks/2/deliveries": { deliveries },
    ...more,
  });

test("lists deliveries with state and error", async () => {
  show();
  expect(await screen.findByRole("row", { name: /Failed.*4 mnist.*12.*status 500/ })).toBeVisible();
  expect(screen.getByRole("row", { name: /Delivered/ })).toBeVisible();
});

test("reports whether a test delivery was received, and why not", async () => {
  const test = "POST /api/v1/webhooks/2/test";
  const answers = { [test]: {} as object | Error };
  show(answers);
  await userEvent.click(await screen.findByRole("button", { name: "Test" }));
  expect(await screen.findByText("Test event delivered to ci.example.org.")).toBeVisible();
});

test("shows the reason of a refused test delivery", async () => {
  show({ "POST /api/v1/webhooks/2/test": new Error("HTTP status 500") });
  await userEvent.click(await screen.findByRole("button", { name: "Test" }));
  expect(await screen.findByText("HTTP status 500")).toBeVisible();
  expect(screen.getByText("Request ID r-1")).toBeInTheDocument();
});

test("edits, adds and removes triggers and explains each", async () => {
  const trigger = golden.answer.webhook.triggers[0];
  const triggers = [
    copyGolden<Message["Trigger"]>(trigger, {
      id: 1,
      triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE",
      condition: { state: "ERROR" } as never,
    }),
    copyGolden<Message["Trigger"]>(trigger, {
      id: 2,
      triggerType: "TRIGGER_TYPE_TASK_LOG",
      condition: { regex: "out of memory" } as never,
    }),
  ];
  const patch = "PATCH /api/v1/webhooks/2";
  const page = show({
    "GET /api/v1/webhooks/2": { webhook: { ...webhook, triggers } },
    [patch]: {},
  });
  expect(await screen.findByText(/each time an experiment fails/)).toBeVisible();
  await userEvent.click(await screen.findByRole("button", { name: "Edit" }));
  await screen.findByRole("dialog", { name: /Edit/ });
  const group = (name: string) => within(screen.getByRole("group", { name }));
  expect(group("Trigger 1").getByLabelText("State")).toHaveValue("ERROR");
  expect(group("Trigger 2").getByLabelText("Regular expression")).toHaveValue("out of memory");
  await userEvent.click(screen.getByRole("button", { name: "Remove trigger 1" }));
  await userEvent.click(screen.getByRole("button", { name: "Add trigger" }));
  const kinds = group("Trigger 2").getByLabelText("Trigger");
  await userEvent.selectOptions(kinds, "Custom event");
  expect(group("Trigger 2").getByText(/core_context.alert/)).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() =>
    expect(page.getBody(patch)).toMatchObject({
      triggers: [
        { triggerType: "TRIGGER_TYPE_TASK_LOG", condition: { regex: "out of memory" } },
        { triggerType: "TRIGGER_TYPE_CUSTOM", condition: {} },
      ],
    }),
  );
});
