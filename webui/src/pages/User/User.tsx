import { Fragment, type ReactNode } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Message, User as UserData } from "@/api/types";
import { useGroups } from "@/api/useGroups";
import { useMe } from "@/api/useMe";
import { usePermissions } from "@/api/usePermissions";
import { Actions } from "@/components/Actions/Actions";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { Facts, Labels, Page } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { UserRoles } from "./UserRoles";

type Change = Message["PatchUser"];

/** A user: properties, roles, and the actions that the caller may perform. */
export default function User() {
  const id = Number(useParams()["id"]);
  const me = useMe();
  const { may, isBasic } = usePermissions();
  const read = useQuery({
    queryKey: ["users", id],
    queryFn: async ({ signal }) => {
      const path = { user_id: id };
      const call = api.GET("/api/v1/users/{user_id}", { params: { path }, signal });
      return (await unwrap(call)).user ?? {};
    },
  });
  const user = read.data;
  const name = user?.username ?? `User ${id}`;
  useCrumbs([{ label: "Users", to: paths.users }, { label: name }]);
  if (!user) return <Page title={name} error={read.error} onRetry={() => void read.refetch()} />;
  const isMine = me?.id === id;
  const isKnown = isMine || may("ADMINISTRATE_USER");
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
          ["Display name", user.displayName],
          ["Cluster admin", user.admin ? "yes" : "no"],
          ["Sign-in", user.remote ? "external" : "password"],
          ["Last seen", <Time key="" at={user.lastAuthAt} />],
          ["Last modified", <Time key="" at={user.modifiedAt} />],
          ["Tasks run as", user.agentUserGroup?.agentUser],
          ...(isKnown && !isBasic
            ? [["Groups", <Groups key="" userId={id} />] as [string, ReactNode]]
            : []),
          ["ID", id],
        ]}
      />
      {isKnown ? (
        <UserRoles user={user} />
      ) : (
        <p>Only cluster admins can see the roles of other users.</p>
      )}
    </Page>
  );
}

/** The names of the user's groups. */
function Groups({ userId }: { userId: number }) {
  const { data: groups } = useGroups(userId);
  if (groups?.length === 0) return "–";
  return groups?.map(({ group }, i) => (
    <Fragment key={group?.groupId}>
      {i > 0 && ", "}
      <Link to={paths.group(group?.groupId ?? 0)}>{group?.name}</Link>
    </Fragment>
  ));
}

function UserActions({ user, isMine }: { user: UserData; isMine: boolean }) {
  const { id = 0, username = "", active, admin, remote } = user;
  const client = useQueryClient();
  const { may } = usePermissions();
  const [dialog, setDialog] = useDialog();
  const isAdmin = may("ADMINISTRATE_USER");
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
            refused: remote && "The user signs in externally and has no password here",
          },
          isAdmin &&
            (active
              ? {
                  label: "Deactivate",
                  refused,
                  confirm: `Deactivate ${username}? All their sessions end and they cannot sign in. Their experiments and models are kept.`,
                  run: () => change({ active: false }),
                }
              : { label: "Activate", run: () => change({ active: true }) }),
          isAdmin && {
            label: admin ? "Remove admin" : "Make admin",
            refused,
            confirm: admin
              ? `Remove the cluster admin role from ${username}?`
              : `Make ${username} a cluster admin with full access to the cluster?`,
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
            { name: "displayName", label: "Display name", value: user.displayName },
            ...(isAdmin
              ? [{ name: "username", label: "Username", value: username, required: true }]
              : []),
          ]}
          onSubmit={(_, { displayName, username: next }) =>
            change({ displayName: displayName?.trim(), username: next?.trim() })
          }
        />
      )}
      {dialog === "password" && (
        <FormDialog
          title={`Change password of ${username}`}
          verb="Change"
          onClose={close}
          fields={[
            { name: "password", label: "New password", type: "password", required: true },
            { name: "again", label: "Confirm password", type: "password", required: true },
          ]}
          onSubmit={({ password = "", again }) => {
            if (password !== again) throw new Error("The passwords do not match.");
            return change({ password });
          }}
        >
          <p>
            Changing the password ends all sessions of the user. Access tokens stay valid until they
            are revoked.
          </p>
        </FormDialog>
      )}
    </>
  );
}
