import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "react-router";
import { api, dataOf } from "@/api/client";
import type { Message, User as Of } from "@/api/types";
import { useMe } from "@/api/useMe";
import { useRoles } from "@/api/useRoles";
import { Actions } from "@/components/Actions/Actions";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { Facts, Labels, Page } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { UserRoles } from "./UserRoles";

type Change = Message["PatchUser"];

/** One user: what they may, and what they may change of themselves. */
export default function User() {
  const id = Number(useParams()["id"]);
  const me = useMe();
  const { may } = useRoles();
  const read = useQuery({
    queryKey: ["users", id],
    queryFn: async ({ signal }) => {
      const path = { user_id: id };
      const call = api.GET("/api/v1/users/{user_id}", { params: { path }, signal });
      return (await dataOf(call)).user ?? {};
    },
  });
  const user = read.data;
  const name = user?.username ?? `User ${id}`;
  useCrumbs([{ label: "Users", to: paths.users }, { label: name }]);
  if (!user) return <Page title={name} error={read.error} onRetry={() => void read.refetch()} />;
  const isMine = me?.id === id;
  const isKnown = isMine || may("ClusterAdmin");
  return (
    <Page
      title={name}
      id={id}
      head={
        <>
          <Labels labels={user.active ? [] : ["deactivated"]} />
          {isKnown && <UserActions user={user} isMine={isMine} />}
        </>
      }
    >
      <Facts
        facts={[
          ["Name", user.displayName],
          ["Administrator of the cluster", user.admin ? "yes" : "no"],
          ["Signs in", user.remote ? "elsewhere" : "here, by a password"],
          ["Last seen", <Time key="" at={user.lastAuthAt} />],
          ["Changed", <Time key="" at={user.modifiedAt} />],
          ["Tasks run as", user.agentUserGroup?.agentUser],
          ["Number", id],
        ]}
      />
      {isKnown ? (
        <UserRoles user={user} />
      ) : (
        <p>Roles of others are shown to administrators of the cluster.</p>
      )}
    </Page>
  );
}

function UserActions({ user, isMine }: { user: Of; isMine: boolean }) {
  const { id = 0, username = "", active, admin, remote } = user;
  const client = useQueryClient();
  const { may } = useRoles();
  const [dialog, setDialog] = useDialog();
  const isAdmin = may("ClusterAdmin");
  const close = () => setDialog("");
  const change = async (body: Change) => {
    await api.PATCH("/api/v1/users/{user_id}", { params: { path: { user_id: id } }, body });
    await client.invalidateQueries({ queryKey: ["users"] });
    if (isMine) await client.invalidateQueries({ queryKey: ["me"] });
  };
  const refused = isMine && "You cannot do this to yourself; ask another administrator";
  return (
    <>
      <Actions
        actions={[
          { label: "Edit", run: () => setDialog("edit") },
          {
            label: "Change password",
            run: () => setDialog("password"),
            refused: remote && "The user signs in elsewhere and has no password here",
          },
          isAdmin &&
            (active
              ? {
                  ...{ label: "Deactivate", refused },
                  confirm: `Deactivate ${username}? They are signed out and cannot sign in; what they made stays.`,
                  run: () => change({ active: false }),
                }
              : { label: "Activate", run: () => change({ active: true }) }),
          isAdmin && {
            label: admin ? "Take administration" : "Make administrator",
            refused,
            confirm: admin
              ? `Take the administration of the cluster from ${username}?`
              : `Make ${username} an administrator, who may do everything in the cluster?`,
            run: () => change({ admin: !admin }),
          },
        ]}
      />
      {dialog === "edit" && (
        <FormDialog
          title={`Edit ${username}`}
          verb="Save"
          onClose={close}
          fields={[
            { name: "displayName", label: "Name", value: user.displayName },
            ...(isAdmin
              ? [{ name: "username", label: "User", value: username, required: true }]
              : []),
          ]}
          onSubmit={(_, { displayName, username: next }) =>
            change({ displayName: displayName?.trim(), username: next?.trim() })
          }
        />
      )}
      {dialog === "password" && (
        <FormDialog
          title={`New password of ${username}`}
          verb="Change"
          onClose={close}
          fields={[
            { name: "password", label: "New password", type: "password", required: true },
            { name: "again", label: "The same again", type: "password", required: true },
          ]}
          onSubmit={({ password = "", again }) => {
            if (password !== again) throw new Error("The two are not the same; type them again.");
            return change({ password });
          }}
        >
          <p>It ends all sign-ins of the user. Access tokens go on until they are revoked.</p>
        </FormDialog>
      )}
    </>
  );
}
