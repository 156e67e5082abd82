import { toPermissionName, usePermissions } from "@/api/usePermissions";
import type { Message } from "@/api/types";
import { useRoleList, type Role } from "@/api/useRoleList";
import { FormDialog } from "../FormDialog/FormDialog";

type Permission = Message["Permission"];

interface Props {
  title: string;
  verb: string;
  /** The initial name. */
  name?: string | undefined;
  /** The initially selected permissions. */
  permissions?: readonly Permission[] | undefined;
  onSubmit: (role: Pick<Role, "name" | "permissions">) => Promise<unknown>;
  onClose: () => void;
}

/** A dialog for the name and the permissions of a role. */
export function RoleForm({ title, verb, name, permissions = [], onSubmit, onClose }: Props) {
  const { may } = usePermissions();
  const { data: roles } = useRoleList();
  // ClusterAdmin has all permissions. Nobody can create a role with permissions that they lack.
  const all = roles
    ?.find((role) => role.name === "ClusterAdmin")
    ?.permissions?.filter(({ id }) => may(toPermissionName(id)))
    .sort((a, b) => (a.name ?? "").localeCompare(b.name ?? ""));
  if (!all) return null;
  return (
    <FormDialog
      title={title}
      verb={verb}
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true, value: name },
        {
          name: "permissions",
          label: "Permissions",
          type: "checks",
          value: permissions.map(({ id }) => id).join(),
          options: all.map(({ id = "PERMISSION_TYPE_UNSPECIFIED", name: words = "", ...each }) => [
            id,
            each.scopeTypeMask?.workspace ? words : `${words} (cluster only)`,
          ]),
        },
      ]}
      onSubmit={({ name: next = "", permissions: selected = "" }) => {
        if (!selected) throw new Error("Select at least one permission.");
        return onSubmit({
          name: next.trim(),
          permissions: selected.split(",").map((id) => ({ id }) as Permission),
        });
      }}
    >
      <p>
        A role with a permission that is marked <em>cluster only</em> cannot be assigned in a
        workspace.
      </p>
    </FormDialog>
  );
}
