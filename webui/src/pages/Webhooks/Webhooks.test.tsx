import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import golden from "@goldens/webhooks.json";
import type { Message } from "@/api/types";
import { copyGolden } from "@/testing/goldens";
import { showPage } from "@/testing/pages";
import { getHost, describeTrigger } from "@/triggers";
import Webhooks from "./Webhooks";

const list = "GET /api/v1/webhooks";
const post = "POST /api/v1/webhooks";

test("describes the condition of each trigger", () => {
  const of = (kind: string, condition: object) =>
    describeTrigger({ triggerType: `TRIGGER_TYPE_${kind}`, condition } as never);
  expect(of("EXPERIMENT_STATE_CHANGE", { state: "ERROR" })).toBe("experiment state is ERROR");
  expect(of("METRIC_THRESHOLD_EXCEEDED", { metric: "loss", op: "<", value: 1 })).toBe(
    "validation loss < 1",
  );
  expect(of("TASK_LOG", { regex: "out of memory" })).toBe("log line matches out of memory");
  expect(of("CUSTOM", {})).toBe("custom event");
});

test("shows the host of a URL without its secret parts", async () => {
  const url = "https://ci.example.org/hook?key=secret";
  showPage(Webhooks, "/admin/webhooks", "/admin/webhooks", {
    [list]: { webhooks: [copyGolden<Message["Webhook"]>(golden.answer.webhooks[0], { url })] },
  });
  expect(await screen.findByText("ci.example.org")).toBeVisible();
  expect(document.body.innerHTML).not.toContain("secret");
  expect(getHost("nonsense")).toBe("nonsense");
});

test("shows the conditions of each chosen trigger", async () => {
  const page = showPage(Webhooks, "/admin/webhooks", "/admin/webhooks?do=create", {
    [list]: { webhooks: [] },
    [post]: { webhook: { id: 2 } },
  });
  await userEvent.type(await screen.findByLabelText("Name"), "best");
  await userEvent.type(screen.getByLabelText("URL"), "https://example.org/best");
  expect(screen.getByLabelText("State")).toBeInTheDocument();
  await userEvent.selectOptions(screen.getByLabelText("Trigger"), "Metric threshold");
  expect(screen.queryByLabelText("State")).toBeNull();
  await userEvent.type(screen.getByLabelText("Metric"), "loss");
  await userEvent.selectOptions(screen.getByLabelText("Comparison"), "<");
  await userEvent.type(screen.getByLabelText("Value"), "0.1");
  await userEvent.click(screen.getByRole("button", { name: "Add trigger" }));
  const second = within(screen.getByRole("group", { name: "Trigger 2" }));
  await userEvent.selectOptions(second.getByLabelText("State"), "ERROR");
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  await vi.waitFor(() => expect(page.router.state.location.pathname).toBe("/admin/webhooks/2"));
  expect(page.getBody(post)).toMatchObject({
    name: "best",
    url: "https://example.org/best",
    workspaceId: 7,
    triggers: [
      {
        triggerType: "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED",
        condition: { metric: "loss", op: "<", value: 0.1, group: "validation" },
      },
      { triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", condition: { state: "ERROR" } },
    ],
  });
});
