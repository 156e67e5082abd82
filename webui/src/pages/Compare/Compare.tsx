import { useMemo } from "react";
import { useSearchParams } from "react-router";
import { Comparison } from "@/components/Comparison/Comparison";
import { parseIds } from "@/components/Comparison/ids";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import styles from "./Compare.module.css";
import { TrialsForm } from "./TrialsForm";

/** Compares any trials. */
export default function Compare() {
  const [params] = useSearchParams();
  const text = params.get("trials") ?? "";
  const ids = useMemo(() => parseIds(text), [text]);
  return (
    <div className={styles.page}>
      <h1 className="visually-hidden">Compare trials</h1>
      <TrialsForm key={text} ids={ids} />
      {ids.length === 0 ? (
        <EmptyState command="det experiment list-trials 1">
          Enter trial IDs, or select rows on the Experiments page.
        </EmptyState>
      ) : (
        <Comparison ids={ids} />
      )}
    </div>
  );
}
