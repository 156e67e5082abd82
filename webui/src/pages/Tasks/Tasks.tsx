import { useMemo, useState } from "react";
import { useSearchParams } from "react-router";
import { KIND_NAMES, LAUNCHED, type LaunchedKind, type Task } from "@/api/tasks";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import { useWorkspaces, workspaceName } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { Count, ParamSelect, SearchBox } from "@/components/Page/Filters";
import { Page } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { DataTable } from "@/components/table/DataTable";
import { readView, writeView } from "@/components/table/view";
import { LaunchDialog } from "@/components/Tasks/LaunchDialog";
import { useKillAction } from "@/components/Tasks/useTaskActions";
import { formatCount } from "@/text";
import { BulkBar } from "./BulkBar";
import { renderCell } from "./cells";
import {
  COLUMNS,
  DEFAULT_VIEW,
  KIND_OPTIONS,
  matches,
  readTaskFilters,
  sortTasks,
  STATE_OPTIONS,
} from "./rows";
import { useTasks } from "./useTasks";

const ignoreRange = () => undefined;

/** Commands, notebooks, shells, TensorBoards and generic tasks. */
export default function Tasks() {
  const [params, setParams] = useSearchParams();
  const view = useMemo(() => readView(params, DEFAULT_VIEW), [params]);
  const filters = readTaskFilters(params);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [dialog, setDialog] = useDialog();
  const { data: workspaces } = useWorkspaces();
  const { tasks, error, refetch } = useTasks();
  const permissions = usePermissions();
  const kill = useKillAction();
  const found = tasks?.filter((task) => matches(task, filters));
  const rows = sortTasks(found ?? [], view.sort, workspaces);
  const columns = view.columns.flatMap((name) => COLUMNS.find((each) => each.name === name) ?? []);
  const isFiltered = Object.values(filters).some(Boolean);
  const launched = LAUNCHED.find((kind) => kind === dialog);
  const refusals = explainLaunchRefusals(permissions);
  const owners = [...new Set(tasks?.map(({ username }) => username))].sort();
  return (
    <Page
      title="Tasks"
      error={tasks?.length ? null : error}
      onRetry={refetch}
      head={
        <>
          <SearchBox label="Search names and IDs" />
          <ParamSelect name="kind" label="Kind" options={KIND_OPTIONS} />
          <ParamSelect name="state" label="State" options={STATE_OPTIONS} />
          <ParamSelect
            name="user"
            label="Owner"
            options={[["", "All owners"], ...owners.map((name) => [name, name] as const)]}
          />
          <ParamSelect
            name="workspace"
            label="Workspace"
            options={[
              ["", "All workspaces"],
              ...(workspaces ?? []).map(({ id = 0, name = "" }) => [String(id), name] as const),
            ]}
          />
          <Count>{found && formatCount(found.length, "task")}</Count>
          <Actions
            actions={LAUNCHED.map((kind) => ({
              label: `New ${kind === "tensorboard" ? "TensorBoard" : kind}`,
              isPrimary: kind === "notebook",
              refused: refusals[kind],
              run: () => setDialog(kind),
            }))}
          />
        </>
      }
    >
      {found?.length === 0 ? (
        <EmptyState {...(!isFiltered && { command: "det notebook start" })}>
          {isFiltered
            ? "No tasks match the filter."
            : "No notebooks, shells, commands, TensorBoards or generic tasks run or ended in the last 24 hours. Start one here or with det."}
        </EmptyState>
      ) : (
        <DataTable<Task, string>
          label="Tasks"
          columns={columns}
          count={found ? rows.length : 8}
          rowAt={(index) => rows[index]}
          getId={({ id }) => id}
          getLabel={({ kind, name }) => `${KIND_NAMES[kind]} ${name}`}
          renderCell={(task, column) =>
            renderCell(task, column, {
              workspace: workspaceName(workspaces, task.workspaceId),
              kill: kill(task),
            })
          }
          onRange={ignoreRange}
          view={view}
          onView={(next) => setParams(writeView(params, next, DEFAULT_VIEW), { replace: true })}
          selected={selected}
          onSelect={setSelected}
        />
      )}
      <BulkBar
        selected={(tasks ?? []).filter(({ id }) => selected.has(id))}
        found={rows.length}
        onAll={() => setSelected(new Set(rows.map(({ id }) => id)))}
        onClear={() => setSelected(new Set())}
      />
      {launched && !refusals[launched] && (
        <LaunchDialog kind={launched} onClose={() => setDialog("")} />
      )}
    </Page>
  );
}

/** Why the caller cannot launch a task of each kind; false if it can be launched. */
function explainLaunchRefusals(
  permissions: ReturnType<typeof usePermissions>,
): Record<LaunchedKind, string | false> {
  const create = explainRefusal(permissions, "CREATE_NSC");
  return {
    notebook: create,
    shell: create,
    command: create,
    tensorboard: explainRefusal(permissions, "VIEW_EXPERIMENT_ARTIFACTS"),
  };
}
