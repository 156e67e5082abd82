import { useMe } from "@/api/useMe";
import { useOverview } from "@/api/useOverview";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Experiments } from "./Experiments";
import { ClusterLoad } from "./ClusterLoad";
import styles from "./Home.module.css";
import { useOwnExperiments } from "./useOwnExperiments";

/** The home page: cluster load, running and ended experiments. */
export default function Home() {
  const overview = useOverview();
  const me = useMe();
  const { mine, error } = useOwnExperiments(overview, me?.id);
  if (!overview) return <div className={styles.skeleton} aria-label="Loading" role="status" />;
  const { running = [], ended = [], agents = 0 } = overview;
  const others = running.filter(({ userId }) => userId !== me?.id);
  return (
    <div className={styles.home}>
      <h1 className="visually-hidden">Home</h1>
      <ClusterLoad overview={overview} />
      {agents === 0 && (
        <EmptyState command="resolute-agent --master http://this-master:8080 --token-file agent.token">
          No agents are connected. Submitted jobs stay queued until one connects.
        </EmptyState>
      )}
      <Experiments title="My experiments" experiments={mine ?? []}>
        {error && <ErrorPanel error={error} />}
        {mine && (
          <EmptyState command="det experiment create const.yaml .">
            You have no running or queued experiments.
          </EmptyState>
        )}
      </Experiments>
      {others.length > 0 && <Experiments title="Other users' experiments" experiments={others} />}
      {ended.length > 0 && <Experiments title="Recently ended" experiments={ended} ended />}
    </div>
  );
}
