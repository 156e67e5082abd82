import { Link } from "react-router";
import { KIND_NAMES, type Task } from "@/api/tasks";
import { Actions, type Action } from "@/components/Actions/Actions";
import { State } from "@/components/State/State";
import type { Cell } from "@/components/table/DataTable";
import { canOpen } from "@/components/Tasks/useTaskActions";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import styles from "./Tasks.module.css";

interface Context {
  workspace: string;
  kill: Action;
}

/** Renders a cell of a task's row. */
export function renderCell(task: Task, column: string, { workspace, kill }: Context): Cell {
  switch (column) {
    case "name":
      return {
        content: <Link to={paths.task(task.id)}>{task.name || task.id}</Link>,
        title: task.name,
      };
    case "kind":
      return { content: KIND_NAMES[task.kind] };
    case "state":
      return {
        content: (
          <>
            <State state={task.state} />
            {task.reason && <span className={styles.reason}>{task.reason}</span>}
          </>
        ),
        title: task.reason || undefined,
      };
    case "user":
      return { content: task.username };
    case "workspace":
      return { content: <Link to={paths.workspace(task.workspaceId)}>{workspace}</Link> };
    case "pool":
      return { content: task.resourcePool };
    case "slots":
      return { content: task.slots ?? <span aria-label="unknown">–</span> };
    case "startTime":
      return { content: <Time at={task.startTime} /> };
    case "actions":
      return {
        content: (
          // An error of a task does not move to the next one in its place.
          <span key={task.id} className={styles.actions}>
            {canOpen(task) && (
              <Link to={paths.openTask(task.id)} aria-label={`Open ${task.name}`}>
                Open
              </Link>
            )}
            <Link to={paths.task(task.id, "logs")} aria-label={`Logs of ${task.name}`}>
              Logs
            </Link>
            {!kill.refused && <Actions isInline actions={[kill]} />}
          </span>
        ),
      };
    default:
      return { content: "" };
  }
}
