import { useMemo, useState } from "react";
import { useParams, useSearchParams } from "react-router";
import { useMe } from "@/api/useMe";
import { useOverview } from "@/api/useOverview";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Tabs } from "@/components/Tabs/Tabs";
import { paths } from "@/paths";
import { formatCount } from "@/text";
import { Agents } from "./Agents";
import styles from "./Cluster.module.css";
import { countSlots, type ColourBy } from "./slotHolders";
import { Legend } from "./Legend";
import { Pools } from "./Pools";
import { Queue } from "./Queue";
import { Usage } from "./Usage";
import { PORTION, useAgents, useQueues } from "./useCluster";

const TABS = [
  { name: "", label: "Now" },
  { name: "usage", label: "Usage" },
];

/** The cluster: pools, agents, queue, and usage. */
export default function Cluster() {
  const { tab = "" } = useParams();
  return (
    <div className={styles.cluster}>
      <h1 className="visually-hidden">Cluster</h1>
      <Tabs
        label="Cluster sections"
        tabs={TABS}
        to={(name) => `${paths.cluster}${name && `/${name}`}`}
      />
      {tab === "usage" ? <Usage /> : <Now />}
    </div>
  );
}

function Now() {
  const [params] = useSearchParams();
  const pools = useOverview()?.pools ?? [];
  const agents = useAgents();
  const [limit, setLimit] = useState(PORTION);
  const queue = useQueues(limit);
  const me = useMe();
  const colourBy: ColourBy = params.get("colour") === "user" ? "user" : "experiment";
  const jobs = useMemo(
    () => new Map(queue.jobs.map((job) => [job.entityId ?? "", job])),
    [queue.jobs],
  );
  const list = agents.data?.agents ?? [];
  return (
    <>
      <section aria-labelledby="pools">
        <h2 id="pools">Pools</h2>
        <Pools pools={pools} />
      </section>
      <section aria-labelledby="agents">
        <h2 id="agents">Agents</h2>
        {agents.isError && <ErrorPanel error={agents.error} />}
        {agents.data && (
          <>
            {list.length > 0 && (
              <Legend shares={countSlots(list, jobs, colourBy)} colourBy={colourBy} />
            )}
            <Agents agents={list} jobs={jobs} colourBy={colourBy} mayChange={me?.admin ?? false} />
          </>
        )}
      </section>
      <section aria-labelledby="queue">
        <h2 id="queue">Queue</h2>
        {queue.error && <ErrorPanel error={queue.error} />}
        {!queue.loading && (queue.jobs.length > 0 || !queue.error) && (
          <Queue jobs={queue.jobs} pools={pools} />
        )}
        {queue.jobs.length < queue.total && (
          <p className={styles.more}>
            {queue.jobs.length} of {formatCount(queue.total, "job")}{" "}
            <button type="button" onClick={() => setLimit(limit + PORTION)}>
              Show more
            </button>
          </p>
        )}
      </section>
    </>
  );
}
