import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { toDraft, toTrigger } from "@/components/Triggers/drafts";
import { TriggerList } from "@/components/Triggers/TriggerList";
import type { Webhook } from "@/triggers";

interface Props {
  webhook: Webhook;
  name: string;
  onClose: () => void;
}

/** Edits the name, URL and triggers. */
export function Edit({ webhook, name, onClose }: Props) {
  const client = useQueryClient();
  const [drafts, setDrafts] = useState(() => (webhook.triggers ?? [{}]).map(toDraft));
  const changeTo = async (next: string, url: string) => {
    await api.PATCH("/api/v1/webhooks/{id}", {
      params: { path: { id: webhook.id ?? 0 } },
      body: {
        url,
        ...(next !== webhook.name && { name: next }),
        triggers: drafts.map(toTrigger),
      },
    });
    await client.invalidateQueries({ queryKey: ["webhooks"] });
  };
  return (
    <FormDialog
      title={`Edit ${name}`}
      verb="Save"
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true, value: webhook.name },
        {
          name: "url",
          label: "URL",
          type: "url",
          required: true,
          value: webhook.url,
          hint: "Pending deliveries go to the new URL",
        },
      ]}
      more={<TriggerList drafts={drafts} onChange={setDrafts} />}
      onSubmit={({ name: next = "", url = "" }) => changeTo(next.trim(), url.trim())}
    />
  );
}
