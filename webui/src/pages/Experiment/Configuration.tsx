import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Experiment } from "@/api/types";
import { save } from "@/charts/export";
import { CodeView } from "@/components/Code/CodeView";
import { DiffView } from "@/components/Code/DiffView";
import { toYaml } from "@/components/Code/yaml";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { CompareForm } from "./CompareForm";
import styles from "./Experiment.module.css";

/** The configuration as submitted or with defaults, or its difference from another experiment's. */
export function Configuration({ experiment }: { experiment: Experiment }) {
  const [params, setParams] = useSearchParams();
  const other = Number(params.get("against") ?? 0) || undefined;
  const isFull = params.get("show") === "full";
  const theirs = useQuery({
    queryKey: ["experiment", other],
    enabled: other !== undefined,
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/experiments/{experiment_id}", {
          params: { path: { experiment_id: other ?? 0 } },
          signal,
        }),
      ),
  });
  const text = isFull ? toYaml(experiment.config) : (experiment.originalConfig ?? "");
  return (
    <div className={styles.stack}>
      <div className={styles.choices}>
        {other === undefined && (
          <label>
            <input
              type="checkbox"
              checked={isFull}
              onChange={() => setParams(isFull ? {} : { show: "full" }, { replace: true })}
            />{" "}
            Show defaults
          </label>
        )}
        <CompareForm />
        <button
          type="button"
          onClick={() => save(`experiment-${experiment.id ?? 0}.yaml`, new Blob([text]))}
        >
          Download
        </button>
      </div>
      {theirs.error && <ErrorPanel error={theirs.error} />}
      {other === undefined ? (
        <CodeView text={text} label="Configuration" />
      ) : (
        theirs.data && (
          <DiffView
            before={toYaml(theirs.data.experiment?.config)}
            after={toYaml(experiment.config)}
          />
        )
      )}
    </div>
  );
}
