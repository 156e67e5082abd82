import { Link } from "react-router";
import { useProject } from "@/api/useProject";
import { Icon } from "@/components/Icon/Icon";
import { paths } from "@/paths";
import styles from "./Experiments.module.css";

/** Shows the project filter by name and clears it. */
export function ProjectChip({ id, onClear }: { id: number; onClear: () => void }) {
  // Shows the ID until the name is known, or if the caller cannot see the project.
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
        <Icon name="close" />
      </button>
    </span>
  );
}
