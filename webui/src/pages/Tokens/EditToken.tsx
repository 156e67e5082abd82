import { api } from "@/api/client";
import type { Message } from "@/api/types";
import { FormDialog } from "@/components/FormDialog/FormDialog";

interface Props {
  token: Message["TokenInfo"];
  onClose: () => void;
  refresh: () => Promise<unknown>;
}

/** Edits a token's description; nothing else of a token can change. */
export function EditToken({ token, onClose, refresh }: Props) {
  const { id = 0, description } = token;
  return (
    <FormDialog
      title={`Edit token ${id}`}
      verb="Save"
      onClose={onClose}
      fields={[
        {
          name: "description",
          label: "Description",
          required: true,
          value: description,
          hint: "What the token is for",
        },
      ]}
      onSubmit={async (values) => {
        await api.PATCH("/api/v1/tokens/{token_id}", {
          params: { path: { token_id: id } },
          body: { description: values["description"]?.trim() ?? "" },
        });
        await refresh();
      }}
    />
  );
}
