import type { ReactNode } from "react";
import { CopyText } from "../CopyText/CopyText";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import styles from "./Page.module.css";

interface Props {
  title: string;
  /** The ID or name in the API and `det`, with a copy button. */
  id?: string | number | undefined;
  /** Content after the title: filters and actions. */
  head?: ReactNode;
  /** The error that is shown instead of the content. */
  error?: unknown;
  onRetry?: () => void;
  children?: ReactNode;
}

/** A page of a list or an object: title, actions, content. */
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

/** A section of a page. */
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

/** Properties of an object, by name. */
export function Facts({ facts }: { facts: [name: string, value: ReactNode][] }) {
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{(value ?? "") === "" ? "–" : value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The labels of an object. */
export function Labels({ labels }: { labels: readonly string[] | undefined }) {
  return labels?.map((label) => (
    <span key={label} className={styles.label}>
      {label}
    </span>
  ));
}
