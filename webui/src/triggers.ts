import type { Message } from "@/api/types";

export type Webhook = Message["Webhook"];

/** Describes the condition of a trigger. */
export function describeTrigger({ triggerType, condition }: Message["Trigger"]): string {
  const of = (condition ?? {}) as Record<string, string | number | undefined>;
  switch (triggerType) {
    case "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE":
      return `experiment state is ${of["state"] ?? "?"}`;
    case "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED":
      return `${of["group"] ?? "validation"} ${of["metric"] ?? "?"} ${of["op"] ?? ">"} ${of["value"] ?? "?"}`;
    case "TRIGGER_TYPE_TASK_LOG":
      return `log line matches ${of["regex"] ?? "?"}`;
    case "TRIGGER_TYPE_CUSTOM":
      return "custom event";
    default:
      return "unknown trigger";
  }
}

/** The host of a URL, without its possibly secret path and query. */
export function getHost(url: string | undefined): string {
  try {
    return new URL(url ?? "").host;
  } catch {
    return url ?? "";
  }
}
