import { useEffect } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "react-router";
import { readMessages } from "@/api/messages";
import { getKindNoun, hasEnded, KIND_NAMES, type Task } from "@/api/tasks";
import { useTask } from "@/api/useTask";
import { Actions } from "@/components/Actions/Actions";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { logPath, NO_FILTERS } from "@/components/LogView/filters";
import { taskLog } from "@/components/LogView/source";
import type { LogLine } from "@/components/LogView/window";
import { Page } from "@/components/Page/Page";
import { State } from "@/components/State/State";
import { canOpen, useKillAction } from "@/components/Tasks/useTaskActions";
import { paths } from "@/paths";
import { leaveFor } from "./leaveFor";
import styles from "./OpenTask.module.css";

// ms between reads: the service opens as soon as it is ready
const INTERVAL = 1000;

const LAST_LINES = 20;
const LINES_INTERVAL = 2000;

/** Waits until a task is ready, and leads to its service or terminal. */
export default function OpenTask() {
  const { id = "" } = useParams();
  const { data, error, refetch } = useTask(id, INTERVAL);
  const navigate = useNavigate();
  const { task, isReady } = data ?? {};
  useCrumbs([
    { label: "Tasks", to: paths.tasks },
    { label: task?.name ?? id, to: paths.task(id) },
    { label: "Open" },
  ]);
  const { page, service } = task ? getTarget(task, isReady ?? false) : {};
  useEffect(() => {
    if (page) void navigate(page, { replace: true });
    else if (service) leaveFor(service);
  }, [page, service, navigate]);
  if (!task) {
    if (error) return <ErrorPanel error={error} onRetry={() => void refetch()} />;
    return <p>Loading task {id}…</p>;
  }
  return <Wait task={task} />;
}

/** The page or service to which a task leads; neither while it is not ready, or if it has ended. */
function getTarget(task: Task, isReady: boolean): { page?: string; service?: string } {
  if (hasEnded(task.state)) return {};
  if (!canOpen(task)) return { page: paths.task(task.id, "logs") };
  if (!isReady) return {};
  if (task.kind === "shell") return { page: paths.task(task.id, "terminal") };
  return { service: task.serviceAddress };
}

function Wait({ task }: { task: Task }) {
  const kill = useKillAction()(task);
  const isOver = hasEnded(task.state);
  const noun = getKindNoun(task.kind);
  return (
    <Page
      title={task.name || KIND_NAMES[task.kind]}
      id={task.id}
      head={
        <>
          <State state={task.state} />
          <Actions actions={[!isOver && kill]} />
        </>
      }
    >
      {isOver ? (
        <>
          <p role="status">
            The {noun} has ended{task.reason && `: ${task.reason}`}.{" "}
            <Link to={paths.task(task.id, "logs")}>All of its log</Link>
          </p>
        </>
      ) : (
        <>
          <p role="status">
            {task.reason
              ? `${task.reason}. The ${noun} opens here once it is ready.`
              : `The ${noun} opens here once it is ready.`}
          </p>
          <p>
            <Link to={paths.task(task.id, "logs")}>Show its log</Link>
          </p>
        </>
      )}
      {task.state !== "STATE_QUEUED" && <LastLines task={task} />}
    </Page>
  );
}

/** The last lines of the log of a task that has started. */
function LastLines({ task }: { task: Task }) {
  const range = { limit: LAST_LINES, isDescending: true };
  const path = logPath(taskLog(task.id).path, NO_FILTERS, range);
  const { data = [], error } = useQuery({
    queryKey: ["log", path],
    queryFn: async ({ signal }) => (await readMessages<LogLine>(path, signal)).reverse(),
    refetchInterval: hasEnded(task.state) ? false : LINES_INTERVAL,
  });
  if (error) return <ErrorPanel error={error} />;
  if (data.length === 0) return null;
  return (
    <pre className={styles.lines} tabIndex={0} aria-label="Last lines of the log">
      {data.map(({ log, message }) => `${log ?? message ?? ""}\n`)}
    </pre>
  );
}
