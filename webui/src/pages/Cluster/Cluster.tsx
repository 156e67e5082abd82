import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Agents } from "./Agents";
import { Queue } from "./Queue";
import { useAgents, useQueues } from "./useCluster";
import styles from "./Cluster.module.css";

/** Who uses what, and who waits for it. */
export default function Cluster() {
  const agents = useAgents();
  const queue = useQueues();
  return (
    <div className={styles.cluster}>
      <h1 className="visually-hidden">Cluster</h1>
      <section aria-labelledby="agents">
        <h2 id="agents">Agents</h2>
        {agents.isError && <ErrorPanel error={agents.error} />}
        {agents.data && <Agents agents={agents.data.agents ?? []} />}
      </section>
      <section aria-labelledby="queue">
        <h2 id="queue">Queue</h2>
        {queue.error && <ErrorPanel error={queue.error} />}
        {!queue.loading && !queue.error && <Queue jobs={queue.jobs} />}
      </section>
    </div>
  );
}
