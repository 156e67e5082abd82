import type { Message } from "@/api/types";
import { ParamCheck } from "../Page/Filters";
import { useParam } from "../Page/useParam";
import { Value } from "../Value/Value";
import styles from "./Comparison.module.css";
import { compareLeaves } from "./differences";

/**
 * The hyperparameters in which trials differ; optionally also the identical ones, with the differing ones
 * highlighted.
 */
export function HyperparameterTable({ trials }: { trials: readonly Message["Trial"][] }) {
  const [all] = useParam("alike");
  const leaves = compareLeaves(trials.map((trial) => trial.hparams));
  const rows = leaves.filter(({ differs }) => differs || all === "yes");
  if (trials.length < 2) return null;
  return (
    <section aria-label="Hyperparameters">
      <div className={styles.titled}>
        <h2>Differing hyperparameters</h2>
        <ParamCheck name="alike" label="Show identical" />
      </div>
      {rows.length === 0 ? (
        <p>No differences.</p>
      ) : (
        <div className={styles.scroll} tabIndex={0} role="group" aria-label="Hyperparameters">
          <table>
            <thead>
              <tr>
                <th>Name</th>
                {trials.map(({ id = 0 }) => (
                  <th key={id}>Trial {id}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ path, values, differs }) => (
                <tr key={path} className={differs && all === "yes" ? styles.differs : ""}>
                  <td>
                    <code>{path}</code>
                    {differs && all === "yes" && <span title="Values differ"> ≠</span>}
                  </td>
                  {values.map((value, i) => (
                    <td key={i}>
                      <Value value={value} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
