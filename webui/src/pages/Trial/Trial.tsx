import { useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { api } from "@/api/client";
import type { Experiment, Message } from "@/api/types";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import { formatNumber } from "@/charts/format";
import { Actions } from "@/components/Actions/Actions";
import { CopyText } from "@/components/CopyText/CopyText";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { isTerminal } from "@/api/states";
import { LogView } from "@/components/LogView/LogView";
import { trialLog } from "@/components/LogView/source";
import { ScrollBox } from "@/components/Page/ScrollBox";
import { LogPolicy } from "@/components/State/LogPolicy";
import { State } from "@/components/State/State";
import { Unmanaged } from "@/components/State/Unmanaged";
import { Tabs } from "@/components/Tabs/Tabs";
import { useOpenTensorboard } from "@/components/Tasks/useOpenTensorboard";
import { Value } from "@/components/Value/Value";
import { paths } from "@/paths";
import { formatCount } from "@/text";
import { Checkpoints } from "./Checkpoints";
import { Metrics, System } from "./Metrics";
import { Attempts } from "./Attempts";
import styles from "./Trial.module.css";
import { useTrial, useTrialNews } from "./useTrial";

type TrialData = Message["Trial"];

interface TabProps {
  trial: TrialData;
  /** Undefined until it is known. */
  experiment?: Experiment | undefined;
}

const TABS: [tab: string, label: string, Content: React.ComponentType<TabProps>][] = [
  ["", "Metrics", Metrics],
  ["checkpoints", "Checkpoints", Checkpoints],
  [
    "logs",
    "Logs",
    ({ trial }) => <LogView source={trialLog(trial.id ?? 0)} follow={!isTerminal(trial.state)} />,
  ],
  ["hyperparameters", "Hyperparameters", Hyperparameters],
  ["runs", "Attempts", Attempts],
  ["system", "System", System],
];

/** A trial: status line and the tab in the address. */
export default function Trial() {
  const { id: text = "", tab = "" } = useParams();
  const { data: trial, error, refetch } = useTrial(Number(text));
  if (error) return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  if (!trial) return <p>Loading trial {text}…</p>;
  return <LoadedTrial trial={trial} tab={tab} />;
}

function LoadedTrial({ trial, tab }: { trial: TrialData; tab: string }) {
  const id = trial.id ?? 0;
  const experimentId = trial.experimentId ?? 0;
  const experiment = useTrialNews(id, experimentId);
  useCrumbs([
    { label: "Experiments", to: paths.experiments },
    { label: `${experimentId} ${experiment?.name ?? ""}`, to: paths.experiment(experimentId) },
    { label: `Trial ${id}` },
  ]);
  const [, , Content] = TABS.find(([name]) => name === tab) ?? ["", "", Metrics];
  return (
    <div className={styles.page}>
      <StatusLine trial={trial} experiment={experiment} />
      {experiment?.unmanaged && isLost(trial) && (
        <p className={styles.reason}>
          The program of this trial was killed or is disconnected. Its next report makes the trial
          running again.
        </p>
      )}
      <Tabs
        label="Trial sections"
        tabs={TABS.map(([name, label]) => ({
          name,
          label,
          count: name === "checkpoints" ? trial.checkpointCount : undefined,
        }))}
        to={(name) => paths.trial(id, name)}
      />
      <div className={styles.content}>
        <Content trial={trial} experiment={experiment} />
      </div>
    </div>
  );
}

/** Whether the trial ended because it has given no sign of life (docs/detached-mode.md). */
const isLost = ({ state, stateReason }: TrialData) =>
  state === "STATE_ERROR" && stateReason?.startsWith("lost:");

function StatusLine({
  trial,
  experiment,
}: {
  trial: TrialData;
  experiment: Experiment | undefined;
}) {
  const id = trial.id ?? 0;
  const client = useQueryClient();
  const permissions = usePermissions();
  const { workspaceId = 0, workspaceName = "", searcherMetric } = experiment ?? {};
  const isUnmanaged = experiment?.unmanaged ?? false;
  const openTensorboard = useOpenTensorboard();
  const scope = { workspaceId, workspaceName };
  const kill = async () => {
    await api.POST("/api/v1/trials/{id}/kill", { params: { path: { id } } });
    await client.invalidateQueries({ queryKey: ["trial", id] });
  };
  return (
    <header className={styles.status}>
      <h1 className="visually-hidden">Trial {id}</h1>
      <CopyText text={String(id)} />
      <State state={trial.state} />
      {isUnmanaged && <Unmanaged />}
      <LogPolicy name={trial.logPolicyMatched} />
      {trial.bestValidation && (
        <span>
          best {searcherMetric} {formatNumber(trial.searcherMetricValue)}
        </span>
      )}
      <span>{formatCount(trial.restarts ?? 0, "restart")}</span>
      {trial.stateReason && <span className={styles.reason}>{trial.stateReason}</span>}
      <span className={styles.actions}>
        {experiment && (
          <Actions
            isInline
            actions={[
              !isUnmanaged &&
                !isTerminal(trial.state) && {
                  label: "Kill",
                  run: kill,
                  refused: explainRefusal(permissions, "UPDATE_EXPERIMENT", scope),
                  confirm: `Kill trial ${id}? It stops immediately, without a final checkpoint.`,
                },
              {
                label: "Open TensorBoard",
                run: () => openTensorboard({ trialIds: [id], workspaceId }),
                refused: explainRefusal(permissions, "VIEW_EXPERIMENT_ARTIFACTS", scope),
              },
            ]}
          />
        )}
        {experiment && !isUnmanaged && permissions.mayAnywhere("CREATE_EXPERIMENT") && (
          <>
            {trial.latestCheckpointUuid && (
              <Link to={paths.startFrom(trial.experimentId ?? 0, "continue", id)}>Continue</Link>
            )}
            <Link to={paths.startFrom(trial.experimentId ?? 0, "search", id)}>
              New search from this trial
            </Link>
          </>
        )}
        <Link to={paths.compare([id])}>Compare</Link>
      </span>
    </header>
  );
}

function Hyperparameters({ trial }: { trial: TrialData }) {
  const rows = flatten(trial.hparams, "");
  return (
    <ScrollBox label="Hyperparameters">
      <table>
        <thead>
          <tr>
            <th>Hyperparameter</th>
            <th>Value</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name}>
              <td>
                <code>{name}</code>
              </td>
              <td>
                <Value value={value} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

function flatten(value: unknown, path: string): [string, unknown][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, inside]) =>
    flatten(inside, path ? `${path}.${name}` : name),
  );
}
