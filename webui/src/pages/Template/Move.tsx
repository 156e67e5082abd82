import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { usePermissions } from "@/api/usePermissions";
import { useWorkspaces } from "@/api/useWorkspaces";
import { FormDialog } from "@/components/FormDialog/FormDialog";

interface Props {
  template: Message["Template"];
  onClose: () => void;
  refresh: () => Promise<unknown>;
}

/** Moves the template to another workspace, whose Editors can then change it. */
export function Move({ template, onClose, refresh }: Props) {
  const { name = "", workspaceId } = template;
  const { may } = usePermissions();
  const { data: workspaces } = useWorkspaces();
  if (!workspaces) return null;
  const options = workspaces
    .filter(({ id, archived }) => id !== workspaceId && !archived && may("CREATE_TEMPLATES", id))
    .map(({ id, name: words = "" }) => [String(id), words] as const);
  const problem =
    options.length === 0 ? new Error("You cannot edit any other workspace.") : undefined;
  return (
    <FormDialog
      title={`Move template ${name}`}
      verb="Move"
      problem={problem}
      onClose={onClose}
      fields={[
        {
          name: "workspace",
          label: "Destination workspace",
          type: "choice",
          required: true,
          options,
          value: options[0]?.[0],
          hint: "Its Editors can change the template",
        },
      ]}
      onSubmit={async ({ workspace }) => {
        const params = { path: { template_name: name } };
        // Read it again: another user may have changed it.
        const read = await unwrap(api.GET("/api/v1/templates/{template_name}", { params }));
        const yaml = read.template?.yaml ?? "";
        await api.PUT("/api/v1/templates/{template_name}", {
          params,
          body: { name, yaml, workspaceId: Number(workspace) },
        });
        await refresh();
      }}
    />
  );
}
