import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Time } from "@/components/Time/Time";
import styles from "./Cluster.module.css";
import { useExplanation } from "./useCluster";

/** Explains a queued job: why each trial waits, for what, and its estimated start. */
export function Explanation({ jobId }: { jobId: string }) {
  const { data, error } = useExplanation(jobId);
  return (
    <tr>
      <td />
      <td colSpan={8} className={styles.explanation}>
        {error && <ErrorPanel error={error} />}
        {data?.waiting?.length === 0 && "This job is not waiting anymore."}
        <ul>
          {data?.waiting?.map((each) => (
            <li key={each.allocationId}>
              {each.trialId ? <strong>Trial {each.trialId}</strong> : null} {each.reason}.
              {(each.waitsFor?.length ?? 0) > 0 && <> Waiting for {each.waitsFor?.join(", ")}.</>}{" "}
              {each.estimatedStart ? (
                <>
                  Estimated start: <Time at={each.estimatedStart} />, {each.estimateBasis}.
                </>
              ) : (
                "No estimate: running jobs have no max_run_time."
              )}
            </li>
          ))}
        </ul>
      </td>
    </tr>
  );
}
