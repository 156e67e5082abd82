import { api, unwrap } from "@/api/client";
import { FormDialog } from "@/components/FormDialog/FormDialog";

interface Props {
  onMade: (token: string) => Promise<void>;
  onClose: () => void;
}

const LIFESPANS = [
  ["168h", "in 7 days"],
  ["720h", "in 30 days"],
  ["2160h", "in 90 days"],
  ["8760h", "in 1 year"],
  ["-1", "never"],
] as const;

// The maximum role of a token is one of the basic roles.
const ROLES = ["Viewer", "Editor", "WorkspaceAdmin", "ClusterAdmin"];

/** Creates an access token of the caller. */
export function Create({ onMade, onClose }: Props) {
  return (
    <FormDialog
      title="New access token"
      verb="Create"
      onClose={onClose}
      fields={[
        {
          name: "description",
          label: "Description",
          required: true,
          hint: "What the token is for",
        },
        {
          name: "lifespan",
          label: "Expires",
          type: "choice",
          value: "720h",
          options: LIFESPANS,
        },
        {
          name: "role",
          label: "Permissions",
          type: "choice",
          options: [["", "same as mine"], ...ROLES.map((role) => [role, `up to ${role}`] as const)],
        },
      ]}
      onSubmit={async ({ description = "", lifespan = "", role = "" }) => {
        const { token = "" } = await unwrap(
          api.POST("/api/v1/tokens", { body: { description, lifespan, role } }),
        );
        await onMade(token);
      }}
    />
  );
}
