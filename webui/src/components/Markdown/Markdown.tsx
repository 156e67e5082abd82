import { useMemo } from "react";
import styles from "./Markdown.module.css";
import { toHtml } from "./toHtml";

/** Renders Markdown. */
export function Markdown({ text }: { text: string }) {
  const html = useMemo(() => toHtml(text), [text]);
  return <div className={styles.prose} dangerouslySetInnerHTML={{ __html: html }} />;
}
