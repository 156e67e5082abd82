import type { LaunchedKind, LaunchRequest } from "@/api/tasks";
import { parseList } from "@/text";
import type { Values } from "../FormDialog/FieldInput";

const toIds = (text: string | undefined) => parseList(text).map(Number);

/** Whether the texts of the fields that list IDs can be sent. */
export const hasBadIds = ({ experiments, trials }: Values): boolean =>
  [...toIds(experiments), ...toIds(trials)].some((id) => !(Number.isInteger(id) && id > 0));

/** The request for a launch: the fields of the dialog win over the configuration. */
export function toLaunchRequest(kind: LaunchedKind, values: Values, yaml: string): LaunchRequest {
  const { name = "", workspace, template, pool, slots, line = "" } = values;
  const overrides = [
    // JSON is YAML.
    name.trim() && `description=${JSON.stringify(name.trim())}`,
    pool && `resources.resource_pool=${JSON.stringify(pool)}`,
    slots && `resources.slots=${Number(slots)}`,
  ].filter((each): each is string => Boolean(each));
  const isTensorboard = kind === "tensorboard";
  return {
    ...(workspace && { workspaceId: Number(workspace) }),
    ...(template && { templateName: template }),
    ...(yaml.trim() && { configYaml: yaml, configPath: "configuration" }),
    ...(overrides.length > 0 && { configOverrides: overrides }),
    ...(kind === "command" && line.trim() && { words: [line.trim()] }),
    ...(isTensorboard && {
      experimentIds: toIds(values["experiments"]),
      trialIds: toIds(values["trials"]),
    }),
  };
}

/** The master's problems with a configuration, one per line. */
export const toProblems = (error: Error | null): string[] =>
  error?.message.replace(/^failed to prepare launch params: /, "").split("\n") ?? [];
