import { useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import type { Experiment, Message } from "@/api/types";
import { useProjectChoices } from "@/api/useProjectChoices";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import type { Field, Values } from "@/components/FormDialog/FieldInput";
import { parseOptionalList } from "@/text";

interface Props {
  experiment: Experiment;
  onClose: () => void;
}

type Resources = Message["PatchExperiment.PatchResources"];

/** The resources to change; empty fields stay unchanged. */
export function toResources(values: Values): Resources | undefined {
  const typed = [
    ["priority", "priority"],
    ["weight", "weight"],
    ["maxSlots", "slots"],
  ] as const;
  const changed = typed.flatMap(([field, name]) =>
    values[name] ? [[field, Number(values[name])] as const] : [],
  );
  return changed.length > 0 ? Object.fromEntries(changed) : undefined;
}

const UNCHANGED = "Empty: unchanged";

const SCHEDULING_FIELDS: Field[] = [
  { name: "priority", label: "Priority", type: "number", hint: `1 to 99. ${UNCHANGED}` },
  { name: "weight", label: "Weight", type: "number", hint: UNCHANGED },
  {
    name: "slots",
    label: "Max slots",
    type: "number",
    hint: `Total across running trials. ${UNCHANGED}`,
  },
];

/** Edits name, description, labels and resources. */
export function Edit({ experiment, onClose }: Props) {
  const id = experiment.id ?? 0;
  const client = useQueryClient();
  const changeTo = async (_: Values, changed: Values) => {
    const resources = toResources(changed);
    await api.PATCH("/api/v1/experiments/{experiment_id}", {
      params: { path: { experiment_id: id } },
      body: {
        name: changed["name"]?.trim(),
        description: changed["description"],
        labels: parseOptionalList(changed["labels"]) as never,
        ...(resources && { resources }),
      },
    });
    await client.invalidateQueries({ queryKey: ["experiment", id] });
  };
  return (
    <FormDialog
      title={`Edit experiment ${id}`}
      verb="Save"
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true, value: experiment.name },
        { name: "description", label: "Description", value: experiment.description },
        {
          name: "labels",
          label: "Labels",
          value: experiment.labels?.join(", "),
          hint: "Comma-separated",
        },
        ...(experiment.unmanaged ? [] : SCHEDULING_FIELDS),
      ]}
      onSubmit={changeTo}
    />
  );
}

/** Moves the experiment to another project, also while it runs. */
export function Move({ experiment, onClose }: Props) {
  const id = experiment.id ?? 0;
  const client = useQueryClient();
  const choices = useProjectChoices(experiment.projectId);
  if (!choices) return null;
  const { options, problem } = choices;
  return (
    <FormDialog
      title={`Move experiment ${id}`}
      problem={problem}
      verb="Move"
      onClose={onClose}
      fields={[
        {
          name: "project",
          label: "Destination project",
          type: "choice",
          required: true,
          options,
          value: options[0]?.[0],
          hint: "Projects that you can edit",
        },
      ]}
      onSubmit={async ({ project }) => {
        await api.POST("/api/v1/experiments/{experiment_id}/move", {
          params: { path: { experiment_id: id } },
          body: { destinationProjectId: Number(project) },
        });
        await client.invalidateQueries({ queryKey: ["experiment", id] });
      }}
    />
  );
}
