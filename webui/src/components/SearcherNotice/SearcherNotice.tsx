import type { ReactNode } from "react";
import { Link } from "react-router";
import type { Metric } from "@/api/trialQueries";
import { describeValues } from "@/charts/invalid";
import type { Series } from "@/charts/series";
import { Icon } from "../Icon/Icon";
import { paths } from "@/paths";
import { formatCount } from "@/text";
import styles from "./SearcherNotice.module.css";

interface Props {
  /** The searcher metric of the experiment. */
  metric: string;
  /** The metrics reported so far. */
  names: readonly Metric[];
  /** Its validations by trial (the series' ID), over batches. */
  series: readonly Series[];
}

const MAX_NAMED = 10;

/** Says why a searcher metric is useless: never reported, NaN or infinite. Shows nothing otherwise. */
export function SearcherNotice({ metric, names, series }: Props) {
  const validated = names.filter(({ group }) => group === "validation").map(({ name }) => name);
  if (validated.length > 0 && !validated.includes(metric)) {
    return (
      <Notice>
        No validation has reported the searcher metric {metric}, so no trial can be the best.
        Reported: {validated.slice(0, MAX_NAMED).join(", ")}
        {validated.length > MAX_NAMED && ", …"}. Report {metric} or set searcher.metric to one of
        these.
      </Notice>
    );
  }
  const bad = series.filter(({ invalid }) => invalid);
  const [first] = bad;
  if (!first?.invalid) return null;
  if (series.length === 1) {
    return (
      <Notice>
        The searcher metric {metric} was not a finite number: {describeValues(first.invalid)}{" "}
        (batches). Such a validation is never the best.
      </Notice>
    );
  }
  return (
    <Notice>
      The searcher metric {metric} was NaN or infinite in {bad.length} of{" "}
      {formatCount(series.length, "trial")}:{" "}
      {bad.slice(0, MAX_NAMED).map(({ id }, i) => (
        <span key={id}>
          {i > 0 && ", "}
          <Link to={paths.trial(Number(id))}>{id}</Link>
        </span>
      ))}
      {bad.length > MAX_NAMED && ", …"}. Such a validation is never the best.
    </Notice>
  );
}

function Notice({ children }: { children: ReactNode }) {
  return (
    <p role="note" className={styles.notice}>
      <Icon name="warning" /> {children}
    </p>
  );
}
