import { Fragment, useEffect, useRef, useState } from "react";
import { Link, useSearchParams } from "react-router";
import type { Job, Message } from "@/api/types";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import { State } from "@/components/State/State";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import styles from "./Cluster.module.css";
import { Explanation } from "./Explanation";
import { QueueHandle } from "./QueueHandle";
import { arePeers, hasOrder, moveBy, moveTo, type Move } from "./order";
import { useMove } from "./useCluster";

interface RowProps {
  job: Job;
  position: number;
  handle: React.ReactNode;
  isOpen: boolean;
  onOpen: () => void;
}

function Cells({ job, position, handle, isOpen, onOpen }: RowProps) {
  const waits = job.summary?.state === "STATE_QUEUED";
  return (
    <>
      <td className={styles.handleCell}>{handle}</td>
      <td className="number">{position}</td>
      <td>
        <JobLink job={job} />
        {job.reason && <span className={styles.reason}>{job.reason}</span>}
        {waits && (
          <button type="button" className="plain" aria-expanded={isOpen} onClick={onOpen}>
            {isOpen ? "Hide" : "Why?"}
          </button>
        )}
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
    </>
  );
}

/** The job's name, as a link to its experiment or task. */
function JobLink({ job: { type, entityId = "", name } }: { job: Job }) {
  if (type !== "TYPE_EXPERIMENT") return <Link to={paths.task(entityId)}>{name}</Link>;
  return (
    <Link to={paths.experiment(Number(entityId))}>
      {entityId} {name}
    </Link>
  );
}

interface Props {
  jobs: readonly Job[];
  pools: readonly Message["ResourcePool"][];
}

/** Running and queued jobs in the order in which pools serve them, with reasons; the order can be changed. */
export function Queue({ jobs, pools }: Props) {
  const [params, setParams] = useSearchParams();
  const open = params.get("why");
  const [dragged, setDragged] = useState<Job>();
  const moved = useRef<string>(undefined);
  const { mutate, error } = useMove();
  const permissions = usePermissions();
  const [message, setMessage] = useState("");
  const order = jobs.map((job) => job.jobId).join();
  useEffect(() => {
    // React recreates a row that moves down, which would lose the focus.
    if (moved.current) document.getElementById(`move-${moved.current}`)?.focus();
  }, [order]);
  if (jobs.length === 0) {
    return (
      <EmptyState command="det experiment create const.yaml .">
        No jobs are running or queued.
      </EmptyState>
    );
  }
  const send = (move: Move | undefined) => {
    moved.current = move?.jobId;
    setMessage("");
    if (!move) return;
    const { type, entityId = "", name = "" } = jobs.find(({ jobId }) => jobId === move.jobId) ?? {};
    const what = type === "TYPE_EXPERIMENT" ? `${entityId} ${name}` : name;
    mutate(move, { onSuccess: () => setMessage(`Moved ${what}.`) });
  };
  const toggle = (id: string) => {
    const next = new URLSearchParams(params);
    if (open === id) next.delete("why");
    else next.set("why", id);
    setParams(next, { replace: true });
  };
  const canMove = (job: Job) =>
    hasOrder(pools.find((pool) => pool.name === job.resourcePool)) &&
    jobs.filter((each) => arePeers(each, job)).length > 1;
  return (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label="Queue">
      {error && <ErrorPanel error={error} />}
      <p role="status" className="visually-hidden">
        {message}
      </p>
      <table>
        <thead>
          <tr>
            <th className={styles.handleCell}>
              <span className="visually-hidden">Move</span>
            </th>
            <th className="number">#</th>
            <th>Job</th>
            <th>State</th>
            <th>Pool</th>
            <th className="number">Slots</th>
            <th className="number">Priority</th>
            <th>User</th>
            <th>Submitted</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job, i) => {
            const id = job.jobId ?? "";
            const before = jobs
              .slice(0, i)
              .filter((each) => each.resourcePool === job.resourcePool);
            const isTarget = dragged && dragged.jobId !== id && arePeers(dragged, job);
            return (
              <Fragment key={id}>
                <tr
                  className={isTarget ? styles.target : undefined}
                  onDragOver={(event) => isTarget && event.preventDefault()}
                  onDragEnd={() => setDragged(undefined)}
                  onDrop={(event) => {
                    event.preventDefault();
                    setDragged(undefined);
                    send(moveTo(jobs, event.dataTransfer.getData("text/plain"), id));
                  }}
                >
                  <Cells
                    job={job}
                    position={before.length + 1}
                    isOpen={open === id}
                    onOpen={() => toggle(id)}
                    handle={
                      canMove(job) && (
                        <QueueHandle
                          job={job}
                          refused={explainRefusal(permissions, "UPDATE_EXPERIMENT", {
                            ...(job.workspaceId && { workspaceId: job.workspaceId }),
                            ...(job.workspace && { workspaceName: job.workspace }),
                          })}
                          isFirst={!moveBy(jobs, id, -1)}
                          isLast={!moveBy(jobs, id, 1)}
                          onMove={(by) => send(moveBy(jobs, id, by))}
                          onDrag={() => setDragged(job)}
                        />
                      )
                    }
                  />
                </tr>
                {open === id && <Explanation jobId={id} />}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
