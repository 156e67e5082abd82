import { useEffect, useRef, useState, type SyntheticEvent } from "react";
import { useMutation } from "@tanstack/react-query";
import { readArchive, readFile } from "@/api/checkpointFiles";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { usePermissions } from "@/api/usePermissions";
import { save } from "@/charts/export";
import { formatBytes, formatNumber } from "@/charts/format";
import { CopyText } from "@/components/CopyText/CopyText";
import { Download } from "@/components/Download/Download";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { State } from "@/components/State/State";
import { Time } from "@/components/Time/Time";
import { formatCount } from "@/text";
import styles from "./Trial.module.css";
import { useCheckpoints } from "./useTrial";

type Checkpoint = Message["Checkpoint"];

/** The trial's checkpoints: files, downloads, and registration as a model version. */
export function Checkpoints({ trial }: { trial: Message["Trial"] }) {
  const { data: checkpoints, error } = useCheckpoints(trial.id ?? 0);
  if (error) return <ErrorPanel error={error} />;
  if (checkpoints?.length === 0) {
    return (
      <EmptyState command={`det trial describe ${trial.id ?? 0}`}>
        No checkpoints saved yet.
      </EmptyState>
    );
  }
  return (
    <div className={styles.stack}>
      {checkpoints?.map((checkpoint) => (
        <CheckpointCard key={checkpoint.uuid} checkpoint={checkpoint} />
      ))}
    </div>
  );
}

function CheckpointCard({ checkpoint }: { checkpoint: Checkpoint }) {
  const uuid = checkpoint.uuid ?? "";
  const files = Object.entries(checkpoint.resources ?? {}).filter(([path]) => !path.endsWith("/"));
  const length = (checkpoint.metadata as { steps_completed?: number } | undefined)?.steps_completed;
  const { mayAnywhere } = usePermissions();
  const isWhole = checkpoint.state === "STATE_COMPLETED";
  const isThere = isWhole || checkpoint.state === "STATE_PARTIALLY_DELETED";
  const aborter = useRef<AbortController>(undefined);
  const download = useMutation({
    mutationFn: async (path: string) => {
      aborter.current = new AbortController();
      const file = await readFile(uuid, path, aborter.current.signal);
      save(path.split("/").pop() ?? path, file);
    },
  });
  useEffect(() => () => aborter.current?.abort(), []);
  return (
    <section className={styles.card} aria-label={`Checkpoint ${uuid}`}>
      <div className={styles.line}>
        <CopyText text={uuid} label={uuid.slice(0, 8)} />
        <State state={checkpoint.state} />
        {length !== undefined && <span>at {formatCount(length, "batch", "batches")}</span>}
        <span>{formatBytes(Number(checkpoint.size ?? 0))}</span>
        <Time at={checkpoint.reportTime} />
        {checkpoint.training?.searcherMetric !== undefined && (
          <span>searcher metric {formatNumber(checkpoint.training.searcherMetric)}</span>
        )}
        {isThere && (
          <Download
            label="Download"
            name={`${uuid}.tar`}
            size={Number(checkpoint.size ?? 0)}
            read={(signal, onBytes) =>
              readArchive(uuid, checkpoint.resources ?? {}, signal, onBytes)
            }
          />
        )}
      </div>
      {isWhole && mayAnywhere("EDIT_MODEL_REGISTRY") && <Register uuid={uuid} />}
      {download.error && <ErrorPanel error={download.error} />}
      <details>
        <summary>
          {formatCount(files.length, "file")} in <code>{checkpoint.storagePath}</code>
        </summary>
        <ul className={styles.files}>
          {files.map(([path, bytes]) => (
            <li key={path}>
              {isThere ? (
                <button
                  type="button"
                  className="plain"
                  disabled={download.isPending}
                  onClick={() => download.mutate(path)}
                >
                  {path}
                </button>
              ) : (
                path
              )}{" "}
              {formatBytes(Number(bytes))}
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}

function Register({ uuid }: { uuid: string }) {
  const [model, setModel] = useState("");
  const register = useMutation({
    mutationFn: (name: string) =>
      unwrap(
        api.POST("/api/v1/models/{model_name}/versions", {
          params: { path: { model_name: name } },
          body: { checkpointUuid: uuid },
        }),
      ),
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (model.trim()) register.mutate(model.trim());
  };
  return (
    <form className={styles.line} onSubmit={submit}>
      <label>
        Register as a version of model{" "}
        <input value={model} onChange={(event) => setModel(event.target.value)} />
      </label>
      <button type="submit" disabled={register.isPending}>
        Register
      </button>
      <span role="status">
        {register.data &&
          `Registered version ${register.data.modelVersion?.version ?? ""} of ${model}`}
      </span>
      {register.error && <ErrorPanel error={register.error} />}
    </form>
  );
}
