import { useSearchParams } from "react-router";
import type { Experiment } from "@/api/types";
import { save } from "@/charts/export";
import { formatBytes } from "@/charts/format";
import { CodeView } from "@/components/Code/CodeView";
import { DiffView } from "@/components/Code/DiffView";
import { describeChange, readText, useFiles } from "@/components/Code/files";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { CompareForm } from "./CompareForm";
import styles from "./Experiment.module.css";
import type { TarFile } from "@/tar";

/** The experiment's files, optionally compared with another experiment's. */
export function Code({ experiment }: { experiment: Experiment }) {
  const [params, setParams] = useSearchParams();
  const other = Number(params.get("against") ?? 0) || undefined;
  const { data: files, error } = useFiles(experiment.id);
  const theirs = useFiles(other);
  const refused = error ?? theirs.error;
  if (refused) return <ErrorPanel error={refused} />;
  if (!files) return null;
  if (files.length === 0 && experiment.unmanaged)
    return (
      <EmptyState>The program runs outside of the cluster, which has no files of it.</EmptyState>
    );
  if (files.length === 0) {
    return (
      <EmptyState command="det experiment create const.yaml .">
        The experiment has no files.
      </EmptyState>
    );
  }
  const names = [...new Set([...files, ...(theirs.data ?? [])].map((file) => file.path))].sort();
  const path =
    params.get("file") ?? names.find((name) => /\.(py|cc|cpp)$/.test(name)) ?? names[0] ?? "";
  const find = (list: TarFile[] | undefined) => list?.find((file) => file.path === path);
  const choose = (name: string) => {
    const next = new URLSearchParams(params);
    next.set("file", name);
    setParams(next, { replace: true });
  };
  return (
    <div className={styles.split}>
      <div className={styles.stack}>
        <CompareForm />
        <ul className={styles.files}>
          {names.map((name) => (
            <li key={name}>
              <button type="button" aria-current={name === path} onClick={() => choose(name)}>
                {name}{" "}
                {other !== undefined &&
                  theirs.data &&
                  describeChange(findFile(files, name), findFile(theirs.data, name))}
              </button>
            </li>
          ))}
        </ul>
      </div>
      <FileView
        path={path}
        file={find(files)}
        theirs={other === undefined ? null : find(theirs.data)}
      />
    </div>
  );
}

const findFile = (list: readonly TarFile[], name: string) =>
  list.find((file) => file.path === name);

interface FileProps {
  path: string;
  file: TarFile | undefined;
  /** Null if nothing is compared. */
  theirs: TarFile | undefined | null;
}

function FileView({ path, file, theirs }: FileProps) {
  const text = readText(file);
  const isText = (each: TarFile | undefined) => !each || readText(each) !== undefined;
  if (theirs !== null && !(isText(file) && isText(theirs)))
    return <p>Binary file {describeChange(file, theirs) || "(no differences)"}.</p>;
  if (theirs !== null) return <DiffView before={readText(theirs) ?? ""} after={text ?? ""} />;
  return (
    <div className={styles.stack}>
      <div className={styles.choices}>
        <h2>{path}</h2>
        <span>{formatBytes(file?.content.length ?? 0)}</span>
        <button
          type="button"
          onClick={() => file && save(path, new Blob([new Uint8Array(file.content)]))}
        >
          Download
        </button>
      </div>
      {text === undefined ? <p>Binary file.</p> : <CodeView text={text} label={path} />}
    </div>
  );
}
