import type { Message } from "@/api/types";

export type Webhook = Message["Webhook"];

/** Describes the condition of a trigger. */
export function describeTrigger({ triggerType, condition }: Message["Trigger"]): string {
  const fields = (condition ?? {}) as Record<string, string | number | undefined>;
  switch (triggerType) {
    case "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE":
      return `experiment state is ${fields["state"] ?? "?"}`;
    case "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED":
      return `${fields["group"] ?? "validation"} ${fields["metric"] ?? "?"} ${
        fields["op"] ?? ">"
      } ${fields["value"] ?? "?"}`;
    case "TRIGGER_TYPE_TASK_LOG":
      return `log line matches ${fields["regex"] ?? "?"}`;
    case "TRIGGER_TYPE_CUSTOM":
      return "custom event";
    default:
      return "unknown trigger";
  }
}

/** Returns the host of a URL, without path and query, which may contain secrets. */
export function getHost(url: string | undefined): string {
  try {
    return new URL(url ?? "").host;
  } catch {
    return url ?? "";
  }
}
