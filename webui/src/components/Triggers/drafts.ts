import type { Message } from "@/api/types";
import type { Field, Values } from "../FormDialog/FieldInput";

type Trigger = Message["Trigger"];

/** A trigger in the form: field values by name. */
export interface Draft {
  /** Identifies the draft in a list. */
  key: number;
  values: Values;
}

const STATE = "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE";
const METRIC = "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED";
const LOG = "TRIGGER_TYPE_TASK_LOG";
const CUSTOM = "TRIGGER_TYPE_CUSTOM";

const STATES = ["COMPLETED", "ERROR", "CANCELED", "PAUSED", "ACTIVE"];

const hasTrigger =
  (kind: string) =>
  ({ trigger }: Values) =>
    trigger === kind;

/** The fields of a trigger, by kind. */
export const FIELDS: readonly Field[] = [
  {
    name: "trigger",
    label: "Trigger",
    type: "choice",
    value: STATE,
    options: [
      [STATE, "Experiment state change"],
      [METRIC, "Metric threshold"],
      [LOG, "Log line match"],
      [CUSTOM, "Custom event"],
    ],
  },
  {
    name: "state",
    label: "State",
    type: "choice",
    value: "COMPLETED",
    when: hasTrigger(STATE),
    options: STATES.map((state) => [state, state] as const),
  },
  { name: "metric", label: "Metric", required: true, when: hasTrigger(METRIC) },
  {
    name: "group",
    label: "Metric group",
    value: "validation",
    when: hasTrigger(METRIC),
    hint: "validation, training or a custom group",
  },
  {
    name: "op",
    label: "Comparison",
    type: "choice",
    value: ">",
    when: hasTrigger(METRIC),
    options: [">", ">=", "<", "<="].map((op) => [op, op] as const),
  },
  {
    name: "value",
    label: "Value",
    required: true,
    when: hasTrigger(METRIC),
    pattern: "[\\-+0-9.eE]+",
  },
  {
    name: "regex",
    label: "Regular expression",
    required: true,
    when: hasTrigger(LOG),
    hint: "RE2 syntax; matches any part of the line",
  },
];

let lastKey = 0;

/** A draft with the values of a trigger, or with default values. */
export function toDraft({ triggerType, condition }: Trigger = {}): Draft {
  const given: Record<string, string | number | undefined> = { trigger: triggerType, ...condition };
  const values = Object.fromEntries(
    FIELDS.map(({ name, value = "" }) => [name, String(given[name] ?? value)]),
  );
  if (values["state"]) values["state"] = values["state"].replace("STATE_", "");
  return { key: ++lastKey, values };
}

/** Converts a draft to an API trigger; see docs/webhooks.md for the conditions. */
export function toTrigger({ values }: Draft): Trigger {
  const { trigger, state = "", metric = "", op = "", value, group = "", regex = "" } = values;
  const conditions: Record<string, object> = {
    [STATE]: { state },
    [METRIC]: { metric: metric.trim(), op, value: Number(value), group: group.trim() },
    [LOG]: { regex },
  };
  return {
    triggerType: trigger as NonNullable<Trigger["triggerType"]>,
    condition: (conditions[trigger ?? ""] ?? {}) as Record<string, never>,
  };
}

const ENTERS: Record<string, string> = {
  ACTIVE: "is created, activated or continued",
  PAUSED: "is paused",
  COMPLETED: "is completed",
  CANCELED: "is canceled or killed",
  ERROR: "fails",
};

/** Explains when a trigger sends an event. */
export function explain({ triggerType, condition }: Trigger): string {
  const { state = "", regex = "" } = (condition ?? {}) as Record<string, string>;
  switch (triggerType) {
    case STATE:
      return `Sent each time an experiment ${ENTERS[state.replace("STATE_", "")] ?? `enters ${state}`}.`;
    case METRIC:
      return "Sent once per trial, when it first reports a value past the threshold.";
    case LOG:
      return regex
        ? "Sent once per trial, for its first log line that matches."
        : "Sent once per trial, for its first log line that matches. Enter a regular expression.";
    case CUSTOM:
      return "Sent when a task of an experiment that names the webhook calls core_context.alert(), or a program POSTs to /api/v1/webhooks/custom.";
    default:
      return "Unknown trigger type.";
  }
}
