import { Link, useParams } from "react-router";
import { getShownProgress } from "@/api/states";
import type { Experiment as ExperimentData } from "@/api/types";
import { formatNumber } from "@/charts/format";
import { CopyText } from "@/components/CopyText/CopyText";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { lazyPart } from "@/components/LazyPart/lazyPart";
import { LogPolicy } from "@/components/State/LogPolicy";
import { State } from "@/components/State/State";
import { Unmanaged } from "@/components/State/Unmanaged";
import { Tabs } from "@/components/Tabs/Tabs";
import { formatPercent } from "@/format";
import { paths } from "@/paths";
import { Actions } from "./Actions";
import styles from "./Experiment.module.css";
import { Hyperparameters } from "./Hyperparameters";
import { Logs } from "./Logs";
import { Overview } from "./Overview";
import { Search } from "./Search";
import { Trials } from "./Trials";
import { useExperiment, useLogPolicies } from "./useExperiment";

// Tabs with libraries of their own are loaded on demand.
const Code = lazyPart(() => import("./Code").then((tab) => tab.Code));
const Configuration = lazyPart(() => import("./Configuration").then((tab) => tab.Configuration));
const Fork = lazyPart(() => import("./Fork").then((tab) => tab.Fork));
const Notes = lazyPart(() => import("./Notes").then((tab) => tab.Notes));

const TABS: [
  tab: string,
  label: string,
  Content: React.ComponentType<{ experiment: ExperimentData }>,
][] = [
  ["", "Overview", Overview],
  ["trials", "Trials", Trials],
  ["hyperparameters", "Hyperparameters", Hyperparameters],
  ["search", "Searcher", Search],
  ["code", "Code", Code],
  ["configuration", "Configuration", Configuration],
  ["notes", "Notes", Notes],
  ["logs", "Logs", Logs],
];

/** An experiment: status line and the tab in the address. */
export default function Experiment() {
  const { id: text = "", tab = "" } = useParams();
  const id = Number(text);
  const { experiment, error, refetch } = useExperiment(id);
  useCrumbs([
    { label: "Experiments", to: paths.experiments },
    { label: `${id} ${experiment?.name ?? ""}` },
  ]);
  if (error) return <ErrorPanel error={error} onRetry={() => void refetch()} />;
  if (!experiment) return <p>Loading experiment {text}…</p>;
  const [, , Content] = TABS.find(([name]) => name === tab) ?? [
    "",
    "",
    tab === "fork" ? Fork : Overview,
  ];
  return (
    <div className={styles.page}>
      <StatusLine experiment={experiment} />
      <Tabs
        label="Experiment sections"
        tabs={TABS.map(([name, label]) => ({
          name,
          label,
          count: name === "trials" ? experiment.numTrials : undefined,
        }))}
        to={(name) => paths.experiment(id, name)}
      />
      <div className={styles.content}>
        <Content key={id} experiment={experiment} />
      </div>
    </div>
  );
}

function StatusLine({ experiment: e }: { experiment: ExperimentData }) {
  const progress = getShownProgress(e.state, e.progress);
  const { data: logPolicies = [] } = useLogPolicies(e);
  // Many programs outside of the cluster report no progress.
  const hasFailedOutside = e.unmanaged && e.state === "STATE_ERROR" && !e.stateReason;
  const onlyTrial = e.numTrials === 1 ? e.trialIds?.[0] : undefined;
  const hasProgress = progress !== undefined && (!e.unmanaged || progress >= 0.01);
  return (
    <header className={styles.status}>
      <h1 className="visually-hidden">
        Experiment {e.id} {e.name}
      </h1>
      <CopyText text={String(e.id ?? 0)} />
      <State state={e.state} />
      {e.unmanaged && <Unmanaged />}
      {logPolicies.map((name) => (
        <LogPolicy key={name} name={name} />
      ))}
      {hasProgress && (
        <>
          <progress aria-label="Progress" value={progress} max={1} />
          <span>{formatPercent(progress)}</span>
        </>
      )}
      {e.bestTrialId ? (
        <span>
          best {formatNumber(e.bestTrialSearcherMetric)}{" "}
          <Link to={paths.trial(e.bestTrialId)}>(trial {e.bestTrialId})</Link>
        </span>
      ) : null}
      {e.stateReason && <span className={styles.reason}>{e.stateReason}</span>}
      {hasFailedOutside && (
        <Link to={onlyTrial ? paths.trial(onlyTrial) : paths.experiment(e.id ?? 0, "trials")}>
          See the reason of its {onlyTrial ? "trial" : "trials"}
        </Link>
      )}
      <Actions experiment={e} />
    </header>
  );
}
