import { useMemo } from "react";
import styles from "./Markdown.module.css";
import { toHtml } from "./toHtml";

/** A text in Markdown as it is meant. */
export function Markdown({ text }: { text: string }) {
  const html = useMemo(() => toHtml(text), [text]);
  return <div className={styles.prose} dangerouslySetInnerHTML={{ __html: html }} />;
}
