import { useState } from "react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearchParams } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Experiment } from "@/api/types";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { RequestId } from "@/components/ErrorPanel/RequestId";
import { paths } from "@/paths";
import { randomId } from "@/randomId";
import { useSettled } from "@/useSettled";
import styles from "./Experiment.module.css";
import { proposeConfig, type Purpose } from "./initialConfig";
import { useOriginTrial } from "./useExperiment";

/**
 * A form for a new experiment: a fork, a search around a trial, or the continuation of a trial, as the
 * address says.
 */
export function Fork({ experiment }: { experiment: Experiment }) {
  const [params] = useSearchParams();
  const requested = params.get("for");
  const purpose: Purpose = requested === "search" || requested === "continue" ? requested : "fork";
  const best = experiment.bestTrialId || experiment.trialIds?.[0];
  const trialId = purpose === "fork" ? undefined : Number(params.get("trial") ?? 0) || best;
  const { data: origin, error } = useOriginTrial(trialId);
  if (experiment.unmanaged)
    return <EmptyState>An unmanaged experiment has no code that the cluster could run.</EmptyState>;
  if (error) return <ErrorPanel error={error} />;
  if (trialId !== undefined && !origin) return <p>Loading trial {trialId}…</p>;
  const what: Record<Purpose, string> = {
    fork: `Fork experiment ${experiment.id ?? 0}: same code, edited configuration`,
    search: `New search around trial ${trialId ?? ""}. Review the ranges and number of trials.`,
    continue: `Continue training from the checkpoint of trial ${trialId ?? ""}. Review the length.`,
  };
  return (
    <Editor
      key={`${purpose} ${trialId ?? ""}`}
      parentId={experiment.id ?? 0}
      title={what[purpose]}
      proposed={proposeConfig(experiment.originalConfig ?? "", purpose, origin)}
    />
  );
}

interface EditorProps {
  parentId: number;
  title: string;
  proposed: string;
}

/** A configuration editor with validation by the master. */
function Editor({ parentId, title, proposed }: EditorProps) {
  const [config, setConfig] = useState(proposed);
  const settled = useSettled(config);
  const navigate = useNavigate();
  const check = useQuery({
    queryKey: ["experiment", parentId, "fork", settled],
    retry: false,
    gcTime: 0,
    queryFn: ({ signal }) =>
      unwrap(
        api.POST("/api/v1/experiments", {
          body: { config: settled, parentId, validateOnly: true },
          signal,
        }),
      ),
  });
  const create = useMutation({
    mutationFn: (requestId: string) =>
      unwrap(
        api.POST("/api/v1/experiments", { body: { config, parentId, activate: true, requestId } }),
      ),
    onSuccess: ({ experiment: created }) => void navigate(paths.experiment(created?.id ?? 0)),
  });
  const refused = explainRefusal(usePermissions(), "CREATE_EXPERIMENT");
  // The request ID makes repeated submissions of the same text create one experiment.
  const [requestId, setRequestId] = useState(randomId);
  const edit = (text: string) => {
    setConfig(text);
    setRequestId(randomId());
  };
  const problem = create.error ?? check.error;
  const isChecked = settled === config && check.isSuccess;
  return (
    <div className={styles.stack}>
      <h2>{title}</h2>
      <textarea
        className={styles.editor}
        aria-label="Configuration (YAML)"
        aria-invalid={problem !== null}
        aria-describedby="fork-problems"
        spellCheck={false}
        value={config}
        onChange={(event) => edit(event.target.value)}
      />
      <div id="fork-problems" role="status">
        {problem && <pre className={styles.problems}>{problem.message}</pre>}
        <RequestId error={problem} />
        {isChecked && !problem && "Configuration is valid."}
        {check.data?.configWarnings?.map((warning) => (
          <p key={warning}>{warning}</p>
        ))}
      </div>
      <div>
        <button
          type="button"
          className="primary"
          disabled={!isChecked || create.isPending || Boolean(refused)}
          title={refused || undefined}
          onClick={() => create.mutate(requestId)}
        >
          Start
        </button>
      </div>
    </div>
  );
}
