import { useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { useMe } from "@/api/useMe";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import { useUsers } from "@/api/useUsers";
import { Actions } from "@/components/Actions/Actions";
import { CopyText } from "@/components/CopyText/CopyText";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { Count, ParamCheck } from "@/components/Page/Filters";
import { Page } from "@/components/Page/Page";
import { useDialog, useParam } from "@/components/Page/useParam";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { Time } from "@/components/Time/Time";
import { formatCount } from "@/text";
import { Create } from "./Create";
import { EditToken } from "./EditToken";
import { NewToken } from "./NewToken";

export type Token = Message["TokenInfo"];

/** Whether the token is valid, revoked or expired. */
export function getTokenStatus({ revoked, expiry }: Token, now: number): string {
  if (revoked) return "revoked";
  return expiry && Date.parse(expiry) <= now ? "expired" : "valid";
}

/** The caller's access tokens; for cluster admins optionally those of all users. */
export default function Tokens() {
  const me = useMe();
  const permissions = usePermissions();
  const { may, mayAnywhere } = permissions;
  const refused = explainRefusal(permissions, "CREATE_TOKEN");
  const client = useQueryClient();
  const { data: users } = useUsers();
  const [dialog, setDialog] = useDialog();
  const [old] = useParam("old");
  const [all] = useParam("all");
  // The token is neither in the address nor in the query cache.
  const [newToken, setNewToken] = useState<string>();
  const isAll = all === "yes" && may("VIEW_OTHER_TOKEN");
  const read = useQuery({
    queryKey: ["tokens", isAll ? "" : me?.username, old],
    enabled: me !== undefined,
    queryFn: async ({ signal }) => {
      const query = {
        showInactive: old === "yes",
        sortBy: "SORT_BY_CREATED_AT" as const,
        orderBy: "ORDER_BY_DESC" as const,
        ...(!isAll && { username: me?.username ?? "" }),
      };
      const call = api.GET("/api/v1/tokens", { params: { query }, signal });
      return (await unwrap(call)).tokenInfo ?? [];
    },
  });
  const rows = read.data?.filter(({ tokenType }) => tokenType !== "TOKEN_TYPE_USER_SESSION");
  const edited = rows?.find(({ id = 0 }) => dialog === `edit-${id}`);
  const now = Date.now();
  const getName = (id: number | undefined) =>
    users?.find((user) => user.id === id)?.username ?? String(id);
  const revoke = async (token: Token) => {
    await api.PATCH("/api/v1/tokens/{token_id}", {
      params: { path: { token_id: token.id ?? 0 } },
      body: { setRevoked: true },
    });
    await client.invalidateQueries({ queryKey: ["tokens"] });
  };
  const columns: ListColumn<Token>[] = [
    {
      head: "ID",
      minWidth: 80,
      share: 0.5,
      cell: ({ id }) => <CopyText text={String(id)} />,
      sortBy: ({ id }) => id,
    },
    {
      head: "Description",
      share: 2,
      minWidth: 160,
      cell: ({ description }) => description || "–",
      sortBy: ({ description }) => description,
    },
    ...(isAll
      ? [{ head: "User", cell: ({ userId }: Token) => getName(userId) } as ListColumn<Token>]
      : []),
    { head: "Permissions", cell: ({ role }) => (role ? `up to ${role}` : "same as its user") },
    { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
    { head: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
    {
      head: "Expires",
      cell: ({ expiry }) => (expiry ? <Time at={expiry} /> : "never"),
      sortBy: ({ expiry }) => expiry,
    },
    {
      head: "State",
      minWidth: 180,
      cell: (token) => {
        const status = getTokenStatus(token, now);
        const what = token.description || String(token.id ?? 0);
        if (status !== "valid" || !mayAnywhere("UPDATE_TOKEN")) return status;
        const edit = () => setDialog(`edit-${token.id ?? 0}`);
        return (
          <Actions
            isInline
            actions={[
              { label: "Edit", run: edit },
              {
                label: "Revoke",
                confirm: `Revoke the token ${what}? Programs that use it lose access immediately.`,
                run: () => revoke(token),
              },
            ]}
          />
        );
      },
    },
  ];
  return (
    <Page
      title="Access tokens"
      error={read.error}
      onRetry={() => void read.refetch()}
      head={
        <>
          <ParamCheck name="old" label="Show revoked and expired" />
          {may("VIEW_OTHER_TOKEN") && <ParamCheck name="all" label="Show all users" />}
          <Count>{rows && formatCount(rows.length, "token")}</Count>
          <Actions
            actions={[
              {
                label: "New token",
                isPrimary: true,
                run: () => setDialog("create"),
                refused,
              },
            ]}
          />
        </>
      }
    >
      {newToken && <NewToken token={newToken} onClose={() => setNewToken(undefined)} />}
      <ListTable<Token>
        label="Access tokens"
        columns={columns}
        rows={rows}
        getId={({ id = 0 }) => id}
      >
        <EmptyState command='det token create --description "…"'>
          No access tokens. Programs use them to sign in without your password.
        </EmptyState>
      </ListTable>
      {edited && mayAnywhere("UPDATE_TOKEN") && (
        <EditToken
          token={edited}
          onClose={() => setDialog("")}
          refresh={() => client.invalidateQueries({ queryKey: ["tokens"] })}
        />
      )}
      {dialog === "create" && !refused && (
        <Create
          onClose={() => setDialog("")}
          onMade={async (token) => {
            setNewToken(token);
            await client.invalidateQueries({ queryKey: ["tokens"] });
          }}
        />
      )}
    </Page>
  );
}
