import { useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { api } from "@/api/client";
import { getKindNoun, hasEnded, KIND_NAMES, type Task as TaskData } from "@/api/tasks";
import { usePermissions } from "@/api/usePermissions";
import { useTask, type TaskDetails } from "@/api/useTask";
import { useWorkspaces, workspaceName } from "@/api/useWorkspaces";
import { Actions, type Action } from "@/components/Actions/Actions";
import { CopyText } from "@/components/CopyText/CopyText";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { lazyPart } from "@/components/LazyPart/lazyPart";
import { LogView } from "@/components/LogView/LogView";
import { taskLog } from "@/components/LogView/source";
import { Facts, Section } from "@/components/Page/Page";
import { State } from "@/components/State/State";
import { Tabs } from "@/components/Tabs/Tabs";
import { canOpen, explainKillRefusal, useKillAction } from "@/components/Tasks/useTaskActions";
import { Duration, Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { Connect } from "./Connect";
import styles from "./Task.module.css";
import { Terminal } from "./Terminal";

const Configuration = lazyPart(() => import("./Configuration").then((tab) => tab.Configuration));

// ms between reads of a task that has not ended
const INTERVAL = 2000;

const TABS: [tab: string, label: string, Content: React.ComponentType<TaskDetails>][] = [
  ["", "Overview", Overview],
  [
    "logs",
    "Logs",
    ({ task }) => <LogView source={taskLog(task.id)} follow={!hasEnded(task.state)} />,
  ],
  ["configuration", "Configuration", Configuration],
];

const SHELL_TABS: typeof TABS = [
  ...TABS,
  ["terminal", "Terminal", ({ task, isReady }) => <Terminal task={task} isReady={isReady} />],
];

/** A command, notebook, shell, TensorBoard or generic task: status line and the tab in the address. */
export default function Task() {
  const { id = "", tab = "" } = useParams();
  const { data: details, error, refetch } = useTask(id, INTERVAL);
  useCrumbs([{ label: "Tasks", to: paths.tasks }, { label: details?.task.name ?? id }]);
  if (!details && error) return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  if (!details) return <p>Loading task {id}…</p>;
  const { task } = details;
  const tabs = task.kind === "shell" ? SHELL_TABS : TABS;
  const [, , Content] = tabs.find(([name]) => name === tab) ?? ["", "", Overview];
  return (
    <div className={styles.page}>
      <StatusLine details={details} />
      <Tabs
        label="Task sections"
        tabs={tabs.map(([name, label]) => ({ name, label }))}
        to={(name) => paths.task(id, name)}
      />
      <div className={styles.content}>
        <Content key={id} {...details} />
      </div>
    </div>
  );
}

function StatusLine({ details }: { details: TaskDetails }) {
  const { task } = details;
  const kill = useKillAction()(task);
  const pause = usePauseActions(details);
  return (
    <header className={styles.status}>
      <h1 className="visually-hidden">
        {KIND_NAMES[task.kind]} {task.name}
      </h1>
      <CopyText text={task.id} />
      <State state={task.state} />
      {task.reason && <span className={styles.reason}>{task.reason}</span>}
      <span className={styles.actions}>
        {canOpen(task) && (
          <Link className={styles.button} to={paths.openTask(task.id)}>
            Open
          </Link>
        )}
        <Actions isInline actions={[...pause, !hasEnded(task.state) && kill]} />
      </span>
    </header>
  );
}

/** The buttons that pause and activate a generic task. */
function usePauseActions({ task, canPause }: TaskDetails): (Action | false)[] {
  const client = useQueryClient();
  const refused = explainKillRefusal(usePermissions(), task);
  const params = { path: { task_id: task.id } };
  const isPaused = task.state.endsWith("PAUSED");
  const act = (send: () => Promise<unknown>) => async () => {
    await send();
    await client.invalidateQueries({ queryKey: ["tasks"] });
  };
  return [
    canPause &&
      !isPaused &&
      !hasEnded(task.state) && {
        label: "Pause",
        refused,
        run: act(() => api.POST("/api/v1/tasks/{task_id}/pause", { params })),
      },
    isPaused && {
      label: "Activate",
      refused,
      run: act(() => api.POST("/api/v1/tasks/{task_id}/unpause", { params })),
    },
  ];
}

function Overview({ task, waiting, endTime }: TaskDetails) {
  const { data: workspaces } = useWorkspaces();
  return (
    <div className={styles.stack}>
      {waiting && (
        <Section title="Why it waits">
          <p>
            {waiting.reason}.
            {(waiting.waitsFor?.length ?? 0) > 0 && (
              <> Waiting for {waiting.waitsFor?.join(", ")}.</>
            )}{" "}
            {waiting.estimatedStart && (
              <>
                Estimated start: <Time at={waiting.estimatedStart} />, {waiting.estimateBasis}.
              </>
            )}
          </p>
        </Section>
      )}
      <Facts
        facts={[
          ["Name", task.name],
          ["Kind", KIND_NAMES[task.kind]],
          ["Owner", task.username],
          [
            "Workspace",
            task.workspaceId > 0 && (
              <Link key="" to={paths.workspace(task.workspaceId)}>
                {workspaceName(workspaces, task.workspaceId)}
              </Link>
            ),
          ],
          ["Pool", task.resourcePool],
          ["Slots", task.slots],
          ["Created", <Time key="" at={task.startTime} />],
          ["Ended", <Time key="" at={endTime} />],
          ["Duration", <Duration key="" from={task.startTime} to={endTime} />],
          ...getSource(task),
        ]}
      />
      {!hasEnded(task.state) && (
        <Section title={`Connect to the ${getKindNoun(task.kind)}`}>
          <Connect task={task} />
        </Section>
      )}
    </div>
  );
}

/** What a TensorBoard shows. */
function getSource({ kind, experimentIds, trialIds }: TaskData): [string, React.ReactNode][] {
  if (kind !== "tensorboard") return [];
  const links = (ids: readonly number[], to: (id: number) => string) =>
    ids.map((id, i) => (
      <span key={id}>
        {i > 0 && ", "}
        <Link to={to(id)}>{id}</Link>
      </span>
    ));
  return [
    ["Experiments", experimentIds.length > 0 && links(experimentIds, (id) => paths.experiment(id))],
    ["Trials", trialIds.length > 0 && links(trialIds, (id) => paths.trial(id))],
  ];
}
