import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { explainClusterRefusal, usePermissions } from "@/api/usePermissions";
import type { Workspace } from "@/api/useWorkspaces";
import { formatStep } from "@/charts/format";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { Meter } from "@/components/Meter/Meter";
import { Facts, Section } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { ListTable } from "@/components/table/ListTable";
import { quote } from "@/text";

type Quota = Message["Quota"];

/** The pools that the workspace can use, and its quota. */
export function Pools({ workspace }: { workspace: Workspace }) {
  const { id = 0, name = "" } = workspace;
  const client = useQueryClient();
  const permissions = usePermissions();
  const [dialog, setDialog] = useDialog();
  const close = () => setDialog("");
  const read = useQuery({
    queryKey: ["workspaces", id, "pools"],
    queryFn: async ({ signal }) => {
      const path = { workspace_id: id };
      const [bound, all, quotas] = await Promise.all([
        unwrap(
          api.GET("/api/v1/workspaces/{workspace_id}/available-resource-pools", {
            params: { path },
            signal,
          }),
        ),
        unwrap(api.GET("/api/v1/resource-pools", { signal })),
        unwrap(api.GET("/api/v1/quotas", { signal })),
      ]);
      const names = bound.resourcePools ?? [];
      return {
        pools: (all.resourcePools ?? []).filter((pool) => names.includes(pool.name ?? "")),
        others: (all.resourcePools ?? []).map((pool) => pool.name ?? ""),
        quota: quotas.quotas?.find((each) => each.scope === "workspace" && each.name === name),
      };
    },
  });
  const refresh = () => client.invalidateQueries({ queryKey: ["workspaces", id, "pools"] });
  if (read.error) return <ErrorPanel error={read.error} onRetry={() => void read.refetch()} />;
  const refused = explainClusterRefusal(permissions, "SET_RESOURCE_QUOTAS");
  const isFixed = explainClusterRefusal(permissions, "MODIFY_RP_WORKSPACE_BINDINGS");
  const { quota, pools, others = [] } = read.data ?? {};
  const unbind = async (pool: string) => {
    await api.DELETE("/api/v1/resource-pools/{resource_pool_name}/workspace-bindings", {
      params: { path: { resource_pool_name: pool } },
      body: { workspaceIds: [id] },
    });
    await refresh();
  };
  return (
    <>
      <Section
        title="Quota"
        head={
          <Actions
            actions={[
              { label: "Set quota", run: () => setDialog("quota"), refused },
              quota && {
                label: "Remove quota",
                refused,
                confirm: `Remove the quota of ${name}? The workspace can then use all slots of its pools.`,
                run: async () => {
                  const path = { scope: "workspace", name };
                  await api.DELETE("/api/v1/quotas/{scope}/{name}", { params: { path } });
                  await refresh();
                },
              },
            ]}
          />
        }
      >
        {quota ? (
          <QuotaFacts quota={quota} />
        ) : (
          read.data && (
            <EmptyState command={`det quota set workspace ${quote(name)} --max-slots 8`}>
              No quota. The workspace can use all slots of its pools.
            </EmptyState>
          )
        )}
      </Section>
      <Section
        title="Pools"
        head={
          <Actions
            actions={[{ label: "Bind pool", run: () => setDialog("pool"), refused: isFixed }]}
          />
        }
      >
        <p>Pools that members can use: pools bound to this workspace and pools without bindings.</p>
        <ListTable
          label={`Pools of ${name}`}
          rows={pools}
          getId={(pool) => pool.name ?? ""}
          isShort
          columns={[
            { head: "Pool", cell: (pool) => pool.name, sortBy: (pool) => pool.name },
            { head: "Description", share: 2, cell: (pool) => pool.description },
            {
              head: "Slots in use",
              isNumber: true,
              cell: (pool) => `${pool.slotsUsed ?? 0} / ${pool.slotsAvailable ?? 0}`,
            },
            {
              head: "Bound to",
              minWidth: 180,
              cell: ({ name: pool = "", workspaces = [] }) =>
                workspaces.includes(name) && !isFixed ? (
                  <Actions
                    isInline
                    actions={[
                      {
                        label: "Unbind",
                        confirm: `Unbind ${pool} from ${name}? A pool without bindings is available to all workspaces.`,
                        run: () => unbind(pool),
                      },
                    ]}
                  />
                ) : (
                  workspaces.join(", ") || "all workspaces"
                ),
            },
          ]}
        >
          <EmptyState command={`det resource-pool bindings add POOL ${quote(name)}`}>
            This workspace cannot use any pool.
          </EmptyState>
        </ListTable>
      </Section>
      {dialog === "quota" && !refused && (
        <SetQuota name={name} quota={quota} onDone={refresh} onClose={close} />
      )}
      {dialog === "pool" && !isFixed && read.data && (
        <FormDialog
          title={`Bind a pool to ${name}`}
          verb="Bind"
          onClose={close}
          fields={[
            {
              name: "pool",
              label: "Pool",
              type: "choice",
              value: others[0],
              options: others.map((each) => [each, each] as const),
              hint: "Other workspaces can then use it only if it is also bound to them",
            },
          ]}
          onSubmit={async ({ pool = "" }) => {
            await api.POST("/api/v1/resource-pools/{resource_pool_name}/workspace-bindings", {
              params: { path: { resource_pool_name: pool } },
              body: { workspaceIds: [id] },
            });
            await refresh();
          }}
        />
      )}
    </>
  );
}

function QuotaFacts({ quota }: { quota: Quota }) {
  const { maxSlots, slotHours, slotsUsed = 0, slotHoursUsed = 0 } = quota;
  const used = (value: number, max: number | undefined, what: string) => (
    <>
      {formatStep(value)} {max === undefined ? "(no limit)" : `of ${formatStep(max)}`}
      {max !== undefined && <Meter label={what} value={value} all={max} />}
    </>
  );
  return (
    <Facts
      facts={[
        ["Slots in use", used(slotsUsed, maxSlots, "Slots in use")],
        ["Slot-hours this month (UTC)", used(slotHoursUsed, slotHours, "Slot-hours used")],
      ]}
    />
  );
}

function SetQuota({
  name,
  quota,
  onDone,
  onClose,
}: {
  name: string;
  quota: Quota | undefined;
  onDone: () => Promise<void>;
  onClose: () => void;
}) {
  const text = (value: number | undefined) => (value === undefined ? "" : String(value));
  return (
    <FormDialog
      title={`Quota of ${name}`}
      verb="Save"
      onClose={onClose}
      fields={[
        {
          name: "slots",
          label: "Max slots",
          type: "number",
          value: text(quota?.maxSlots),
          hint: "Empty: no limit",
        },
        {
          name: "hours",
          label: "Slot-hours per month",
          type: "number",
          value: text(quota?.slotHours),
          hint: "Empty: no limit",
        },
      ]}
      onSubmit={async ({ slots, hours }) => {
        await api.PUT("/api/v1/quotas", {
          body: {
            quota: {
              scope: "workspace",
              name,
              ...(slots && { maxSlots: Number(slots) }),
              ...(hours && { slotHours: Number(hours) }),
            },
          },
        });
        await onDone();
      }}
    />
  );
}
