import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import golden from "@goldens/webhook.json";
import type { Message } from "@/api/types";
import { like } from "@/testing/goldens";
import { showPage } from "@/testing/pages";
import Webhook from "./Webhook";

const webhook = like<Message["Webhook"]>(golden.answer.webhook, { id: 2, workspaceId: 7 });
const deliveries = [
  {
    ...{ id: "9", eventId: "e-9", state: "STATE_FAILED", attempts: 12, error: "status 500" },
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

test("what was told, what was not, and why", async () => {
  show();
  expect(await screen.findByRole("row", { name: /Failed.*4 mnist.*12.*status 500/ })).toBeVisible();
  expect(screen.getByRole("row", { name: /Delivered/ })).toBeVisible();
});

test("a test says that it was received, or why not", async () => {
  const test = "POST /api/v1/webhooks/2/test";
  const answers = { [test]: {} as object | Error };
  show(answers);
  await userEvent.click(await screen.findByRole("button", { name: "Test" }));
  expect(await screen.findByText("ci.example.org has received the test.")).toBeVisible();
});

test("a test that was refused says why", async () => {
  show({ "POST /api/v1/webhooks/2/test": new Error("it answered 500") });
  await userEvent.click(await screen.findByRole("button", { name: "Test" }));
  expect(await screen.findByText("it answered 500")).toBeVisible();
  expect(screen.getByText("request r-1")).toBeVisible();
});
