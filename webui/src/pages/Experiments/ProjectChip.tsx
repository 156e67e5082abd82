import { Link } from "react-router";
import { useProject } from "@/api/useProject";
import { paths } from "@/paths";
import styles from "./Experiments.module.css";

/** Says that the rows are those of one project, by its name, and leads back to all. */
export function ProjectChip({ id, onClear }: { id: number; onClear: () => void }) {
  // Its number until its name is known, or where one may not see it.
  const { data } = useProject(id);
  const name = data?.name ?? String(id);
  return (
    <span className={styles.chip}>
      Project <Link to={paths.project(id)}>{name}</Link>
      <button
        type="button"
        className="plain"
        aria-label={`Clear project filter ${name}`}
        title="Show all projects"
        onClick={onClear}
      >
        ×
      </button>
    </span>
  );
}
