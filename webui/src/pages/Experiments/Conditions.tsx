import { useEffect, useRef, useState } from "react";
import { Popover } from "@/components/Popover/Popover";
import { toDraft, emptyGroup, toFilter, type DraftGroup } from "@/components/table/draft";
import { FilterError, parseFilter, type FilterColumn } from "@/components/table/filter";
import { FilterBuilder } from "@/components/table/FilterBuilder";
import { toSentence } from "@/components/table/sentence";
import styles from "./Experiments.module.css";

interface Props {
  /** The filter text in the address. */
  sentence: string;
  onSentence: (sentence: string) => void;
  columns: readonly FilterColumn[];
  suggestValues: (column: string) => readonly string[];
}

/** The filter as a form. */
export function Conditions({ sentence, onSentence, columns, suggestValues }: Props) {
  const { draft, problem, change } = useDraft(sentence, onSentence, columns);
  const count = countConditions(draft);
  return (
    <Popover
      size="form"
      label={
        <>
          Conditions <span className={styles.badge}>{count > 0 && count}</span>
        </>
      }
    >
      {problem && (
        <p role="status" className={styles.error}>
          Invalid filter ({problem}). Conditions added here replace it.
        </p>
      )}
      <FilterBuilder
        group={draft}
        onChange={change}
        columns={columns}
        suggestValues={suggestValues}
      />
    </Popover>
  );
}

const countConditions = (group: DraftGroup): number =>
  group.children.reduce(
    (sum, child) => sum + (child.kind === "group" ? countConditions(child) : 1),
    0,
  );

function read(sentence: string, columns: readonly FilterColumn[]) {
  try {
    return { draft: toDraft(parseFilter(sentence, columns), columns), problem: "" };
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    return { draft: emptyGroup(), problem: error.message };
  }
}

/** Keeps incomplete conditions in the form but not in the filter text. */
function useDraft(
  sentence: string,
  onSentence: (sentence: string) => void,
  columns: readonly FilterColumn[],
) {
  const [state, setState] = useState(() => ({ draft: emptyGroup(), problem: "" }));
  const shown = useRef<string>(undefined);
  // Texts that were sent from here come back through the address: ignore them.
  const sent = useRef<string[]>([]);
  const { problem } = state;
  useEffect(() => {
    // A text that could not be parsed may be valid after the columns have loaded.
    if (columns.length === 0 || (shown.current === sentence && !problem)) return;
    const isNews = shown.current !== sentence;
    shown.current = sentence;
    const at = sent.current.indexOf(sentence);
    sent.current = at < 0 ? [] : sent.current.slice(at + 1);
    if (at >= 0) return;
    const next = read(sentence, columns);
    // If the text is still invalid, keep the conditions that were begun in its place.
    if (isNews || !next.problem) setState(next);
  }, [sentence, columns, problem]);
  const change = (draft: DraftGroup) => {
    const next = toSentence(toFilter(draft, columns), columns);
    // An invalid text stays until conditions replace it.
    setState({ draft, problem: next ? "" : problem });
    if (next === (sent.current.at(-1) ?? sentence) || (problem && !next)) return;
    sent.current.push(next);
    onSentence(next);
  };
  return { ...state, change };
}
