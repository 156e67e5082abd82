import type { ReactNode } from "react";
import { CopyText } from "../CopyText/CopyText";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import styles from "./Page.module.css";

interface Props {
  title: string;
  /** The number or the name by which the API and `det` know it: a click copies it. */
  id?: string | number | undefined;
  /** Behind the title: what narrows the page, what can be done. */
  head?: ReactNode;
  /** Why there is nothing to show. */
  error?: unknown;
  onRetry?: () => void;
  children?: ReactNode;
}

/** A page of a list or of one thing: its title, what can be done, and what there is. */
export function Page({ title, id, head, error, onRetry, children }: Props) {
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <h1>{title}</h1>
        {id !== undefined && <CopyText text={String(id)} />}
        {head}
      </header>
      {error ? <ErrorPanel error={error} {...(onRetry && { onRetry })} /> : children}
    </div>
  );
}

/** A part of a page, under a heading. */
export function Section({
  title,
  head,
  children,
}: {
  title: string;
  head?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className={styles.section} aria-label={title}>
      <div className={styles.head}>
        <h2>{title}</h2>
        {head}
      </div>
      {children}
    </section>
  );
}

/** What is known of a thing, by its name. */
export function Facts({ facts }: { facts: [name: string, value: ReactNode][] }) {
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === undefined || value === "" ? "–" : value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The labels that people gave to a thing. */
export function Labels({ labels }: { labels: readonly string[] | undefined }) {
  return labels?.map((label) => (
    <span key={label} className={styles.label}>
      {label}
    </span>
  ));
}
