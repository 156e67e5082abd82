import { Link } from "react-router";
import type { Job } from "@/api/types";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { State } from "@/components/State/State";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import styles from "./Cluster.module.css";

function Row({ job, place }: { job: Job; place: number }) {
  const waits = job.summary?.state === "STATE_QUEUED";
  return (
    <tr>
      <td className="number">{place}</td>
      <td>
        <Link to={paths.experiment(Number(job.entityId))}>
          {job.entityId} {job.name}
        </Link>
        {job.reason && <span className={styles.reason}>{job.reason}</span>}
      </td>
      <td>
        <State state={waits ? "STATE_QUEUED" : "STATE_RUNNING"} />
      </td>
      <td>{job.resourcePool}</td>
      <td className="number">
        {job.allocatedSlots} / {job.requestedSlots}
      </td>
      <td className="number">{job.priority}</td>
      <td>{job.username}</td>
      <td>
        <Time at={job.submissionTime} />
      </td>
    </tr>
  );
}

/** Who holds slots and who waits, and for what, in the order in which pools serve them. */
export function Queue({ jobs }: { jobs: Job[] }) {
  if (jobs.length === 0) {
    return (
      <EmptyState command="det experiment create const.yaml .">
        Nothing runs and nothing waits.
      </EmptyState>
    );
  }
  return (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label="Queue">
      <table>
        <thead>
          <tr>
            <th className="number">#</th>
            <th>Experiment</th>
            <th>State</th>
            <th>Pool</th>
            <th className="number">Slots</th>
            <th className="number">Priority</th>
            <th>User</th>
            <th>Submitted</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job, i) => (
            <Row key={job.jobId} job={job} place={i + 1} />
          ))}
        </tbody>
      </table>
    </div>
  );
}
