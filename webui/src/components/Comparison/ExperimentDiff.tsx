import { useState } from "react";
import { Link } from "react-router";
import type { Experiment } from "@/api/types";
import { paths } from "@/paths";
import type { TarFile } from "@/tar";
import { DiffView } from "../Code/DiffView";
import { describeChange, readText, useFiles } from "../Code/files";
import { toYaml } from "../Code/yaml";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import styles from "./Comparison.module.css";

const AROUND = 3; // lines

interface Props {
  first: Experiment;
  second: Experiment;
  /** Whether it is open initially; a closed one reads nothing. */
  isOpen: boolean;
}

/** The differences in configuration and files between an experiment and the first compared one. */
export function ExperimentDiff({ first, second, isOpen }: Props) {
  const [isShown, setShown] = useState(isOpen);
  const a = first.id ?? 0;
  const b = second.id ?? 0;
  const title = `Experiment ${b} compared with ${a}`;
  return (
    <details
      className={styles.against}
      open={isShown}
      onToggle={(event) => setShown(event.currentTarget.open)}
    >
      <summary>
        <h2>{title}</h2>
      </summary>
      {isShown && (
        <div className={styles.parts}>
          <h3>Configuration</h3>
          <DiffView before={toYaml(first.config)} after={toYaml(second.config)} around={AROUND} />
          <h3>
            Code <Link to={`${paths.experiment(b, "code")}?against=${a}`}>All files</Link>
          </h3>
          <Files first={a} second={b} />
        </div>
      )}
    </details>
  );
}

function Files({ first, second }: { first: number; second: number }) {
  const before = useFiles(first);
  const after = useFiles(second);
  const error = before.error ?? after.error;
  if (error) return <ErrorPanel error={error} />;
  if (!before.data || !after.data) return <p>Loading files…</p>;
  const differing = differingFiles(before.data, after.data);
  if (differing.length === 0) return <p>No differences.</p>;
  return differing.map(({ path, mark, old, now }) => (
    <details key={path} open={differing.length <= MAX_OPEN}>
      <summary>
        <code>{path}</code> {mark}
      </summary>
      {isText(old) && isText(now) ? (
        <DiffView before={readText(old) ?? ""} after={readText(now) ?? ""} around={AROUND} />
      ) : (
        <p>Binary file.</p>
      )}
    </details>
  ));
}

// With more files, all are collapsed initially.
const MAX_OPEN = 5;

const isText = (file: TarFile | undefined) => !file || readText(file) !== undefined;

/** The files that differ, by path. */
export function differingFiles(before: readonly TarFile[], after: readonly TarFile[]) {
  const find = (list: readonly TarFile[], path: string) => list.find((file) => file.path === path);
  const names = [...new Set([...before, ...after].map((file) => file.path))].sort();
  return names
    .map((path) => ({ path, old: find(before, path), now: find(after, path) }))
    .map((each) => ({ ...each, mark: describeFileChange(each.now, each.old) }))
    .filter(({ mark }) => mark !== "");
}

function describeFileChange(now: TarFile | undefined, old: TarFile | undefined): string {
  if (!old) return "(added)";
  return now ? describeChange(now, old) : "(removed)";
}
