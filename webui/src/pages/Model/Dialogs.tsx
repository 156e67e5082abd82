import { useQueryClient } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { usePermissions } from "@/api/usePermissions";
import type { Workspace } from "@/api/useWorkspaces";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { paths } from "@/paths";
import { parseOptionalList, parseList } from "@/text";

interface Props {
  model: Message["Model"];
  onClose: () => void;
}

/** Registers a checkpoint as a new version; `checkpoint` in the address preselects one. */
export function Register({ model: { name = "" }, onClose }: Props) {
  const client = useQueryClient();
  const [params] = useSearchParams();
  return (
    <FormDialog
      title={`New version of ${name}`}
      verb="Register"
      onClose={onClose}
      fields={[
        {
          name: "checkpoint",
          label: "Checkpoint",
          required: true,
          value: params.get("checkpoint") ?? "",
          hint: "Checkpoint UUID; see the trial's Checkpoints tab or det checkpoint list EXPERIMENT",
        },
        { name: "name", label: "Name" },
        { name: "comment", label: "Comment" },
        { name: "labels", label: "Labels", hint: "Comma-separated" },
        { name: "notes", label: "Notes", type: "lines", hint: "Markdown" },
      ]}
      onSubmit={async ({ checkpoint = "", name: versionName = "", labels, comment, notes }) => {
        await api.POST("/api/v1/models/{model_name}/versions", {
          params: { path: { model_name: name } },
          body: {
            checkpointUuid: checkpoint.trim(),
            name: versionName,
            comment: comment ?? "",
            notes: notes ?? "",
            labels: parseList(labels),
          },
        });
        await client.invalidateQueries({ queryKey: ["models"] });
      }}
    />
  );
}

/** Parses metadata: a JSON object; an empty text is an empty object. */
function parseMetadata(text: string): Record<string, never> {
  let read: unknown;
  try {
    read = JSON.parse(text.trim() || "{}");
  } catch (error) {
    throw new Error(`Metadata is not valid JSON: ${(error as Error).message}`);
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) {
    throw new Error('Metadata must be a JSON object, for example {"owner": "bob"}.');
  }
  return read as Record<string, never>;
}

/** Edits name, description, labels, metadata and notes. */
export function Edit({ model, onClose }: Props) {
  const client = useQueryClient();
  const path = { model_name: model.name ?? "" };
  return (
    <FormDialog
      title={`Edit ${model.name ?? ""}`}
      verb="Save"
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true, value: model.name },
        { name: "description", label: "Description", value: model.description },
        {
          name: "labels",
          label: "Labels",
          value: model.labels?.join(", "),
          hint: "Comma-separated",
        },
        {
          name: "metadata",
          label: "Metadata",
          type: "lines",
          value: JSON.stringify(model.metadata ?? {}, null, 2),
          hint: "JSON object; keys that you leave out are removed",
        },
        { name: "notes", label: "Notes", type: "lines", value: model.notes, hint: "Markdown" },
      ]}
      onSubmit={async (_, { name, description, labels, metadata, notes }) => {
        const { model: now } = await unwrap(
          api.PATCH("/api/v1/models/{model_name}", {
            params: { path },
            body: {
              name: name?.trim(),
              description,
              notes,
              labels: parseOptionalList(labels),
              metadata: metadata === undefined ? undefined : parseMetadata(metadata),
            },
          }),
        );
        await client.invalidateQueries({ queryKey: ["models"] });
        return paths.model(now?.name ?? path.model_name);
      }}
    />
  );
}

/** Moves the model to another workspace that the caller can edit. */
export function Move({ model, workspaces, onClose }: Props & { workspaces: Workspace[] }) {
  const client = useQueryClient();
  const { may } = usePermissions();
  const options = workspaces
    .filter(
      ({ id, archived }) =>
        id !== model.workspaceId && !archived && may("CREATE_MODEL_REGISTRY", id),
    )
    .map(({ id, name = "" }) => [String(id), name] as const);
  return (
    <FormDialog
      title={`Move ${model.name ?? ""}`}
      verb="Move"
      onClose={onClose}
      fields={[
        {
          name: "workspace",
          label: "Destination workspace",
          type: "choice",
          required: true,
          options,
          value: options[0]?.[0],
          hint: "Workspaces that you can edit",
        },
      ]}
      onSubmit={async ({ workspace }) => {
        await api.POST("/api/v1/models/{model_name}/move", {
          params: { path: { model_name: model.name ?? "" } },
          body: { destinationWorkspaceId: Number(workspace) },
        });
        await client.invalidateQueries({ queryKey: ["models"] });
      }}
    />
  );
}
