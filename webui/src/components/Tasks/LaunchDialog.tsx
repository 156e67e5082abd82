import { useRef, useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ApiError, unwrap } from "@/api/client";
import { getKindNoun, launchTask, type LaunchedKind, type LaunchRequest } from "@/api/tasks";
import { usePermissions } from "@/api/usePermissions";
import { useWorkspaces } from "@/api/useWorkspaces";
import { toYaml } from "@/components/Code/yaml";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import type { Field, Values } from "@/components/FormDialog/FieldInput";
import { findSyntaxProblems } from "@/components/YamlEditor/problems";
import { YamlEditor } from "@/components/YamlEditor/YamlEditor";
import { paths } from "@/paths";
import { randomId } from "@/randomId";
import { useSettled } from "@/useSettled";
import { hasBadIds, toLaunchRequest, toProblems } from "./launch";
import styles from "./Tasks.module.css";

interface Props {
  kind: LaunchedKind;
  onClose: () => void;
  /** Initial values of fields by name. */
  values?: Values;
  /** What is special about this launch, above the fields. */
  note?: string;
  /** Reads the files of the context directory. */
  readFiles?: () => Promise<LaunchRequest["files"]>;
}

type Choices = readonly (readonly [value: string, label: string])[];

/** A form that launches a task; the master checks its configuration as the user types. */
export function LaunchDialog({ kind, ...props }: Props) {
  const { may } = usePermissions();
  const permission = kind === "tensorboard" ? "VIEW_WORKSPACE" : "CREATE_NSC";
  const { data: workspaces } = useWorkspaces();
  const pools = useQuery({
    queryKey: ["resource-pools"],
    staleTime: 60_000,
    queryFn: async ({ signal }) =>
      (await unwrap(api.GET("/api/v1/resource-pools", { signal }))).resourcePools ?? [],
  });
  const templates = useQuery({
    queryKey: ["templates"],
    queryFn: async ({ signal }) => {
      const params = { query: { limit: -1 } }; // all
      return (await unwrap(api.GET("/api/v1/templates", { params, signal }))).templates ?? [];
    },
  });
  const areRead = workspaces && !pools.isPending && !templates.isPending;
  if (!areRead) return null;
  const toChoice = ({ name = "" }: { name?: string }) => [name, name] as const;
  return (
    <Form
      kind={kind}
      workspaces={workspaces
        .filter(({ id, archived }) => !archived && may(permission, id))
        .map(({ id, name = "" }) => [String(id), name] as const)}
      pools={(pools.data ?? []).map(toChoice)}
      templates={(templates.data ?? []).map(toChoice)}
      {...props}
    />
  );
}

interface FormProps extends Props {
  workspaces: Choices;
  pools: Choices;
  templates: Choices;
}

function Form(props: FormProps) {
  const { kind, onClose, note, readFiles } = props;
  const client = useQueryClient();
  const fields = makeFields(props);
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(fields.map(({ name, value }) => [name, value ?? ""])),
  );
  const [yaml, setYaml] = useState("");
  const request = toLaunchRequest(kind, values, yaml);
  const text = JSON.stringify(request);
  const settled = useSettled(text);
  const isComplete = (each: LaunchRequest) =>
    kind !== "tensorboard" || [...(each.experimentIds ?? []), ...(each.trialIds ?? [])].length > 0;
  const isAskable = isComplete(request) && !hasBadIds(values);
  const syntax = findSyntaxProblems(yaml);
  const check = useQuery({
    queryKey: ["launch-check", kind, settled],
    enabled: isAskable && syntax.length === 0 && settled === text,
    retry: false,
    gcTime: 0,
    queryFn: ({ signal }) =>
      launchTask(kind, { ...(JSON.parse(settled) as LaunchRequest), preview: true }, { signal }),
  });
  const isChecked = settled === text && check.isSuccess;
  const problems = syntax.length > 0 ? syntax : settled === text ? toProblems(check.error) : [];
  // A repeated submission of the same request launches one task.
  const sent = useRef({ text: "", key: "" });
  const launch = async (now: Values) => {
    const body = toLaunchRequest(kind, now, yaml);
    const sentText = JSON.stringify(body);
    if (sent.current.text !== sentText) sent.current = { text: sentText, key: randomId() };
    const files = await readFiles?.();
    try {
      const { key } = sent.current;
      const { task } = await launchTask(kind, { ...body, ...(files && { files }) }, { key });
      await client.invalidateQueries({ queryKey: ["tasks"] });
      return kind === "command" ? paths.task(task.id, "logs") : paths.openTask(task.id);
    } catch (error) {
      // The master keeps its answer to a key, also a refusal.
      if (error instanceof ApiError && error.status > 0) sent.current.text = "";
      throw error;
    }
  };
  return (
    <FormDialog
      title={`New ${getKindNoun(kind)}`}
      verb="Launch"
      fields={fields}
      isBlocked={problems.length > 0 || !isAskable}
      onChange={setValues}
      onSubmit={launch}
      onClose={onClose}
      more={
        <>
          <div className={styles.editor}>
            <span aria-hidden>Configuration (YAML)</span>
            <YamlEditor
              label="Configuration (YAML)"
              text={yaml}
              onText={setYaml}
              isReadOnly={false}
              problems={problems}
              good={isChecked && "Configuration is valid."}
            />
          </div>
          {isChecked && (
            <details>
              <summary>Complete configuration</summary>
              <pre className={styles.config} tabIndex={0} aria-label="Complete configuration">
                {toYaml(check.data.config)}
              </pre>
            </details>
          )}
        </>
      }
    >
      {note && <p className={styles.note}>{note}</p>}
    </FormDialog>
  );
}

function makeFields({ kind, workspaces, pools, templates, values = {} }: FormProps): Field[] {
  const isTensorboard = kind === "tensorboard";
  const all: (Field | false)[] = [
    isTensorboard && {
      name: "experiments",
      label: "Experiments",
      hint: "IDs, comma-separated",
    },
    isTensorboard && { name: "trials", label: "Trials", hint: "IDs, comma-separated" },
    kind === "command" && {
      name: "line",
      label: "Command line",
      hint: "A shell runs it",
    },
    !isTensorboard && { name: "name", label: "Name", hint: "Empty: a generated name" },
    {
      name: "workspace",
      label: "Workspace",
      type: "choice",
      options: workspaces,
      value: workspaces[0]?.[0],
    },
    templates.length > 0 && {
      name: "template",
      label: "Template",
      type: "choice",
      options: [["", "None"], ...templates],
    },
    {
      name: "pool",
      label: "Pool",
      type: "choice",
      options: [["", "Default of the workspace"], ...pools],
    },
    !isTensorboard && {
      name: "slots",
      label: "Slots",
      type: "number",
      hint: "0: without a slot. Empty: as configured, otherwise 1",
    },
  ];
  return all
    .filter((field) => field !== false)
    .map((field) => ({ ...field, value: values[field.name] ?? field.value }));
}
