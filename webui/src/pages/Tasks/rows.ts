import { hasEnded, KIND_NAMES, type Task, type TaskKind } from "@/api/tasks";
import { workspaceName, type Workspace } from "@/api/useWorkspaces";
import { hasText } from "@/components/Page/Filters";
import type { Sort, TableColumn, TableView } from "@/components/table/view";

/** The columns of the table; together as wide as a screen of 1280 pixels allows. */
export const COLUMNS: readonly TableColumn[] = [
  { name: "name", head: "Name", isNumber: false, width: 172 },
  { name: "kind", head: "Kind", isNumber: false, width: 98 },
  { name: "state", head: "State", isNumber: false, width: 210 },
  { name: "user", head: "Owner", isNumber: false, width: 76 },
  { name: "workspace", head: "Workspace", isNumber: false, width: 118 },
  { name: "pool", head: "Pool", isNumber: false, width: 78 },
  { name: "slots", head: "Slots", isNumber: true, width: 52 },
  { name: "startTime", head: "Created", isNumber: false, width: 92 },
  { name: "actions", head: "Actions", isNumber: false, width: 138 },
];

export const DEFAULT_VIEW: TableView = {
  filter: "",
  text: "",
  columns: COLUMNS.map(({ name }) => name),
  pinned: 1,
  widths: {},
  sort: [{ column: "startTime", isDescending: true }],
  heat: [],
  showArchived: false,
  isCompact: false,
};

export const KIND_OPTIONS: [value: string, label: string][] = [
  ["", "All kinds"],
  ...Object.entries(KIND_NAMES),
];

export const STATE_OPTIONS: [value: string, label: string][] = [
  ["", "All states"],
  ["live", "Not ended"],
  ["queued", "Queued"],
  ["running", "Running"],
  ["ended", "Ended"],
  ["failed", "Failed"],
];

function isInState({ state }: Task, wanted: string): boolean {
  switch (wanted) {
    case "live":
      return !hasEnded(state);
    case "queued":
      return state === "STATE_QUEUED";
    case "running":
      return state === "STATE_RUNNING";
    case "ended":
      return hasEnded(state);
    case "failed":
      return state === "STATE_ERROR";
    default:
      return true;
  }
}

/** The filters of the list; empty ones do not filter. */
export interface TaskFilters {
  text: string;
  kind: string;
  state: string;
  user: string;
  workspace: string;
}

export function readTaskFilters(params: URLSearchParams): TaskFilters {
  const get = (name: string) => params.get(name) ?? "";
  return {
    text: get("q"),
    kind: get("kind"),
    state: get("state"),
    user: get("user"),
    workspace: get("workspace"),
  };
}

export const matches = (task: Task, { text, kind, state, user, workspace }: TaskFilters) =>
  hasText(text, task.name, task.id) &&
  (kind === "" || task.kind === (kind as TaskKind)) &&
  (user === "" || task.username === user) &&
  (workspace === "" || task.workspaceId === Number(workspace)) &&
  isInState(task, state);

function getSortKey(task: Task, column: string, workspaces: Workspace[] | undefined) {
  switch (column) {
    case "kind":
      return KIND_NAMES[task.kind];
    case "state":
      return task.state;
    case "user":
      return task.username;
    case "workspace":
      return workspaceName(workspaces, task.workspaceId);
    case "pool":
      return task.resourcePool;
    case "slots":
      return task.slots === undefined ? "" : String(task.slots);
    case "startTime":
      return task.startTime ?? "";
    default:
      return task.name;
  }
}

const collator = new Intl.Collator("en", { numeric: true });

/** Sorts tasks by columns, the first one first; those without a value come last in either order. */
export function sortTasks(
  tasks: readonly Task[],
  sort: readonly Sort[],
  workspaces: Workspace[] | undefined,
): Task[] {
  return [...tasks].sort((a, b) => {
    for (const { column, isDescending } of sort) {
      const [one, other] = [a, b].map((task) => getSortKey(task, column, workspaces));
      if (one === other) continue;
      if (!one || !other) return one ? -1 : 1;
      const order = collator.compare(one, other);
      return isDescending ? -order : order;
    }
    return collator.compare(a.id, b.id);
  });
}
