import type { TaskDetails } from "@/api/useTask";
import { save } from "@/charts/export";
import { CodeView } from "@/components/Code/CodeView";
import { toYaml } from "@/components/Code/yaml";
import styles from "./Task.module.css";

/** The complete configuration of a task. */
export function Configuration({ task, config }: TaskDetails) {
  const text = toYaml(config);
  return (
    <div className={styles.stack}>
      <div>
        <button
          type="button"
          onClick={() => save(`${task.kind}-${task.id}.yaml`, new Blob([text]))}
        >
          Download
        </button>
      </div>
      <CodeView text={text} label="Configuration" />
    </div>
  );
}
