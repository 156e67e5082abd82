import { useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import type { Experiment, Message } from "@/api/types";
import { isTerminal } from "@/api/states";
import { useOverview } from "@/api/useOverview";
import { useProjectChoices } from "@/api/useProjectChoices";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import type { Field, Values } from "@/components/FormDialog/FieldInput";
import { parseOptionalList } from "@/text";

interface Props {
  experiment: Experiment;
  onClose: () => void;
}

type Resources = Message["PatchExperiment.PatchResources"];

/** The changed resources; undefined if there are none. */
export function toResources(changed: Values): Resources | undefined {
  const { priority, weight, slots } = changed;
  const resources: Resources = {
    ...(priority && { priority: Number(priority) }),
    ...(weight && { weight: Number(weight) }),
    // 0 removes the limit.
    ...(slots !== undefined && { maxSlots: Number(slots) }),
  };
  return Object.keys(resources).length > 0 ? resources : undefined;
}

/** The fields that the policy of the experiment's pool uses, with their values; all if the policy is unknown. */
function getSchedulingFields({ config, state }: Experiment, policy: string | undefined): Field[] {
  // An experiment that has ended is in no queue.
  if (isTerminal(state)) return [];
  const { resources = {} } = (config ?? {}) as { resources?: Record<string, number | null> };
  const text = (name: string) => String(resources[name] ?? "");
  const priority: Field = {
    name: "priority",
    label: "Priority",
    type: "number",
    required: text("priority") !== "",
    value: text("priority"),
    hint: "1 to 99. The smallest starts first. Empty: the pool's default",
  };
  const weight: Field = {
    name: "weight",
    label: "Weight",
    type: "number",
    required: true,
    value: text("weight"),
    hint: "Share of the pool, compared with other experiments",
  };
  const slots: Field = {
    name: "slots",
    label: "Max slots",
    type: "number",
    value: text("max_slots"),
    hint: "Total across running trials. Empty: no limit",
  };
  return [
    ...(policy === undefined || policy === "priority" ? [priority] : []),
    ...(policy === undefined || policy === "fair_share" ? [weight] : []),
    slots,
  ];
}

/** Edits name, description, labels and resources. */
export function Edit({ experiment, onClose }: Props) {
  const id = experiment.id ?? 0;
  const client = useQueryClient();
  const policy = useOverview()?.pools?.find(({ name }) => name === experiment.resourcePool)?.policy;
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
        ...(experiment.unmanaged ? [] : getSchedulingFields(experiment, policy)),
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
