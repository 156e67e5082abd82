import { api, dataOf } from "@/api/client";
import { ROLES } from "@/api/useRoles";
import { FormDialog } from "@/components/FormDialog/FormDialog";

interface Props {
  onMade: (token: string) => Promise<void>;
  onClose: () => void;
}

const LIFESPANS = [
  ["168h", "7 days"],
  ["720h", "30 days"],
  ["2160h", "90 days"],
  ["8760h", "a year"],
  ["-1", "for ever"],
] as const;

/** A new token of the caller. */
export function Create({ onMade, onClose }: Props) {
  return (
    <FormDialog
      title="New access token"
      verb="Create"
      onClose={onClose}
      fields={[
        { name: "description", label: "Description", required: true, hint: "What will use it" },
        {
          ...{ name: "lifespan", label: "Good for", type: "choice", value: "720h" },
          options: LIFESPANS,
        },
        {
          ...{ name: "role", label: "May", type: "choice" },
          options: [
            ["", "what I may"],
            ...ROLES.map((role) => [role, `no more than ${role}`] as const),
          ],
        },
      ]}
      onSubmit={async ({ description = "", lifespan = "", role = "" }) => {
        const { token = "" } = await dataOf(
          api.POST("/api/v1/tokens", { body: { description, lifespan, role } }),
        );
        await onMade(token);
      }}
    />
  );
}
