import { EmptyState } from "@/components/EmptyState/EmptyState";
import type { TableView } from "@/components/table/view";
import { getNoun, type Kind } from "./rows";

interface Props {
  kind: Kind;
  view: TableView;
  projectId: number | undefined;
  /** Whether the filter is valid. */
  isSearched: boolean;
}

/** Shown instead of an empty table; says only what was searched. */
export function Empty({ kind, view, projectId, isSearched }: Props) {
  if (!isSearched) return <EmptyState>{`Correct the filter to see ${getNoun(kind)}s.`}</EmptyState>;
  const where = projectId ? " in this project" : "";
  if (view.filter || view.text)
    return <EmptyState>{`No ${getNoun(kind)}s${where} match the filter.`}</EmptyState>;
  const which = view.showArchived ? "" : "unarchived ";
  const of = projectId ? ` --project-id ${projectId}` : "";
  return (
    <EmptyState command={`det experiment create${of} const.yaml .`}>
      {`No ${which}${getNoun(kind)}s${where} yet.`}
    </EmptyState>
  );
}
