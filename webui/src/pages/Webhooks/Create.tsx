import { useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "@/api/client";
import type { Message } from "@/api/types";
import { useRoles } from "@/api/useRoles";
import type { Workspace } from "@/api/useWorkspaces";
import type { Field, Values } from "@/components/FormDialog/FieldInput";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { paths } from "@/paths";

type Kind = Message["TriggerType"];

const STATES = ["COMPLETED", "ERROR", "CANCELED", "PAUSED", "ACTIVE"];

const isState = ({ trigger }: Values) => trigger === "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE";
const isMetric = ({ trigger }: Values) => trigger === "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED";
const isLog = ({ trigger }: Values) => trigger === "TRIGGER_TYPE_TASK_LOG";

/** The condition of the trigger that was chosen, as docs/webhooks.md has it. */
export function conditionOf(values: Values): Record<string, string | number> {
  const { state = "", metric = "", op = "", value, group = "", regex = "" } = values;
  if (isState(values)) return { state };
  if (isMetric(values)) return { metric: metric.trim(), op, value: Number(value), group };
  return isLog(values) ? { regex } : {};
}

const TRIGGER: Field[] = [
  {
    ...{ name: "trigger", label: "Told when", type: "choice" },
    value: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE",
    options: [
      ["TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "an experiment enters a state"],
      ["TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED", "a metric goes beyond a value"],
      ["TRIGGER_TYPE_TASK_LOG", "a line of a log matches"],
      ["TRIGGER_TYPE_CUSTOM", "a program says so"],
    ],
  },
  {
    ...{ name: "state", label: "State", type: "choice", value: "COMPLETED", when: isState },
    options: STATES.map((state) => [state, state] as const),
  },
  { name: "metric", label: "Metric", required: true, when: isMetric },
  {
    ...{ name: "group", label: "Of the group", value: "validation", when: isMetric },
    hint: "validation, training, or one of your own",
  },
  {
    ...{ name: "op", label: "Is", type: "choice", value: ">", when: isMetric },
    options: [">", ">=", "<", "<="].map((op) => [op, op] as const),
  },
  { name: "value", label: "Value", required: true, pattern: "[\\-+0-9.eE]+", when: isMetric },
  {
    ...{ name: "regex", label: "Regular expression", required: true, when: isLog },
    hint: "RE2; a part of the line matches it",
  },
];

/** A new webhook with a trigger; more of them by `det webhook create`. */
export function Create({
  workspaces,
  onClose,
}: {
  workspaces: readonly Workspace[];
  onClose: () => void;
}) {
  const client = useQueryClient();
  const { may } = useRoles();
  const options = workspaces
    .filter(({ id }) => may("WorkspaceAdmin", id))
    .map(({ id, name = "" }) => [String(id), name] as const);
  if (may("ClusterAdmin")) options.push(["0", "all workspaces"]);
  return (
    <FormDialog
      title="New webhook"
      verb="Create"
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true },
        {
          ...{ name: "url", label: "URL", type: "url", required: true },
          hint: "http or https; addresses inside the cluster's network are refused unless the master's configuration allows them",
        },
        {
          ...{ name: "form", label: "Form", type: "choice", value: "WEBHOOK_TYPE_DEFAULT" },
          options: [
            ["WEBHOOK_TYPE_DEFAULT", "JSON, signed"],
            ["WEBHOOK_TYPE_SLACK", "Slack message"],
          ],
        },
        {
          ...{ name: "workspace", label: "Workspace", type: "choice", options },
          value: options[0]?.[0],
        },
        {
          ...{ name: "mode", label: "Hears of", type: "choice", value: "WEBHOOK_MODE_WORKSPACE" },
          options: [
            ["WEBHOOK_MODE_WORKSPACE", "all experiments there"],
            ["WEBHOOK_MODE_SPECIFIC", "those whose configuration names it"],
          ],
        },
        ...TRIGGER,
      ]}
      onSubmit={async (values) => {
        const { webhook } = await dataOf(
          api.POST("/api/v1/webhooks", {
            body: {
              ...{ name: (values["name"] ?? "").trim(), url: (values["url"] ?? "").trim() },
              webhookType: values["form"] as Message["WebhookType"],
              mode: values["mode"] as Message["WebhookMode"],
              workspaceId: Number(values["workspace"]),
              triggers: [
                {
                  triggerType: values["trigger"] as Kind,
                  condition: conditionOf(values) as Record<string, never>,
                },
              ],
            },
          }),
        );
        await client.invalidateQueries({ queryKey: ["webhooks"] });
        return paths.webhook(webhook?.id ?? 0);
      }}
    />
  );
}
