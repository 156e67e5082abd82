import { useSearchParams } from "react-router";
import type { Experiment } from "@/api/types";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { LogView } from "@/components/LogView/LogView";
import { trialLog } from "@/components/LogView/source";
import { isTerminal } from "@/api/states";
import styles from "./Experiment.module.css";
import { TrialPicker } from "./TrialPicker";

/** The log of the trial in the address, or of the first trial. */
export function Logs({ experiment }: { experiment: Experiment }) {
  const [params, setParams] = useSearchParams();
  const ids = experiment.trialIds ?? [];
  const chosen = Number(params.get("trial") ?? 0) || ids[0];
  if (chosen === undefined) {
    return (
      <EmptyState command={`det experiment describe ${experiment.id ?? 0}`}>
        No trial has started yet.
      </EmptyState>
    );
  }
  return (
    <div className={`${styles.stack} ${styles.full}`}>
      {ids.length > 1 && (
        <TrialPicker
          ids={ids}
          chosen={chosen}
          onChoose={(id) => {
            const next = new URLSearchParams(params);
            next.set("trial", String(id));
            next.delete("line"); // it belongs to the other trial
            setParams(next, { replace: true });
          }}
        />
      )}
      <LogView key={chosen} source={trialLog(chosen)} follow={!isTerminal(experiment.state)} />
    </div>
  );
}
