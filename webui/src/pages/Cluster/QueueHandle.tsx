import type { Job } from "@/api/types";
import { Icon } from "@/components/Icon/Icon";
import styles from "./Cluster.module.css";

interface Props {
  job: Job;
  /** Why the caller cannot move the job. */
  refused: string | false;
  isFirst: boolean;
  isLast: boolean;
  onMove: (by: -1 | 1) => void;
  onDrag: () => void;
}

/** Moves a job in the queue by dragging, by arrow keys or by buttons. */
export function QueueHandle({ job, refused, isFirst, isLast, onMove, onDrag }: Props) {
  const name = `${job.entityId ?? ""} ${job.name ?? ""}`;
  const press = (event: React.KeyboardEvent) => {
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : undefined;
    if (by === undefined || refused) return;
    event.preventDefault();
    onMove(by);
  };
  const step = (by: -1 | 1, isAtEnd: boolean) => (
    <button
      type="button"
      className="plain"
      aria-label={`Move ${name} ${by < 0 ? "up" : "down"}`}
      aria-disabled={Boolean(refused) || isAtEnd}
      title={refused || undefined}
      onClick={() => !refused && !isAtEnd && onMove(by)}
    >
      <Icon name={by < 0 ? "previous" : "next"} />
    </button>
  );
  return (
    <div className={styles.move}>
      <button
        type="button"
        id={`move-${job.jobId ?? ""}`}
        className={`plain ${styles.handle}`}
        draggable={!refused}
        aria-disabled={Boolean(refused)}
        aria-label={`Move ${name}: use the up and down arrow keys`}
        title={refused || "Drag or use the arrow keys"}
        onDragStart={(event) => {
          event.dataTransfer.effectAllowed = "move";
          event.dataTransfer.setData("text/plain", job.jobId ?? "");
          onDrag();
        }}
        onKeyDown={press}
      >
        <Icon name="grip" />
      </button>
      {step(-1, isFirst)}
      {step(1, isLast)}
    </div>
  );
}
