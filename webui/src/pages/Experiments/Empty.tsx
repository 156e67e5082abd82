import { EmptyState } from "@/components/EmptyState/EmptyState";
import type { TableView } from "@/components/table/view";
import type { Kind } from "./rows";

interface Props {
  kind: Kind;
  view: TableView;
  projectId: number | undefined;
  /** The filter can be read. */
  isSearched: boolean;
}

/** In place of a table without rows: no more than was asked is denied. */
export function Empty({ kind, view, projectId, isSearched }: Props) {
  if (!isSearched)
    return <EmptyState>{`The ${kind} are shown once the filter can be read.`}</EmptyState>;
  const where = projectId ? " in this project" : "";
  if (view.filter || view.text)
    return <EmptyState>{`No ${kind}${where} fit the filter.`}</EmptyState>;
  const which = view.showArchived ? "" : " that are not archived";
  const of = projectId ? ` --project-id ${projectId}` : "";
  return (
    <EmptyState command={`det experiment create${of} const.yaml .`}>
      {`No ${kind}${where}${which} yet.`}
    </EmptyState>
  );
}
