import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { usePermissions } from "@/api/usePermissions";
import type { Workspace } from "@/api/useWorkspaces";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { toDraft, toTrigger } from "@/components/Triggers/drafts";
import { TriggerList } from "@/components/Triggers/TriggerList";
import { paths } from "@/paths";

/** Creates a webhook with its triggers. */
export function Create({
  workspaces,
  onClose,
}: {
  workspaces: readonly Workspace[];
  onClose: () => void;
}) {
  const client = useQueryClient();
  const { may } = usePermissions();
  const [drafts, setDrafts] = useState(() => [toDraft()]);
  const options = workspaces
    .filter(({ id }) => may("EDIT_WEBHOOKS", id))
    .map(({ id, name = "" }) => [String(id), name] as const);
  if (may("EDIT_WEBHOOKS")) options.push(["0", "all workspaces"]);
  return (
    <FormDialog
      title="New webhook"
      verb="Create"
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true },
        {
          name: "url",
          label: "URL",
          type: "url",
          required: true,
          hint: "http or https; the master configuration must allow addresses inside the cluster's network",
        },
        {
          name: "form",
          label: "Format",
          type: "choice",
          value: "WEBHOOK_TYPE_DEFAULT",
          options: [
            ["WEBHOOK_TYPE_DEFAULT", "Signed JSON"],
            ["WEBHOOK_TYPE_SLACK", "Slack message"],
          ],
        },
        {
          name: "workspace",
          label: "Workspace",
          type: "choice",
          options,
          value: options[0]?.[0],
        },
        {
          name: "mode",
          label: "Applies to",
          type: "choice",
          value: "WEBHOOK_MODE_WORKSPACE",
          options: [
            ["WEBHOOK_MODE_WORKSPACE", "all experiments in the workspace"],
            ["WEBHOOK_MODE_SPECIFIC", "experiments that name it in their configuration"],
          ],
        },
      ]}
      more={<TriggerList drafts={drafts} onChange={setDrafts} />}
      onSubmit={async (values) => {
        const { webhook } = await unwrap(
          api.POST("/api/v1/webhooks", {
            body: {
              name: (values["name"] ?? "").trim(),
              url: (values["url"] ?? "").trim(),
              webhookType: values["form"] as Message["WebhookType"],
              mode: values["mode"] as Message["WebhookMode"],
              workspaceId: Number(values["workspace"]),
              triggers: drafts.map(toTrigger),
            },
          }),
        );
        await client.invalidateQueries({ queryKey: ["webhooks"] });
        return paths.webhook(webhook?.id ?? 0);
      }}
    />
  );
}
