import { useCallback } from "react";
import { Link, useSearchParams } from "react-router";
import { ApiError } from "@/api/client";
import { usePermissions } from "@/api/usePermissions";
import { Actions } from "@/components/Actions/Actions";
import { CopyText } from "@/components/CopyText/CopyText";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Icon } from "@/components/Icon/Icon";
import { Count } from "@/components/Page/Filters";
import { Page } from "@/components/Page/Page";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { formatCount } from "@/text";
import styles from "./Audit.module.css";
import { Filter } from "./Filter";
import { useAudit, type AuditFilter, type AuditRecord } from "./useAudit";
import { getTargetPath, shortMethod } from "./format";

const columns: ListColumn<AuditRecord>[] = [
  { head: "Time", minWidth: 112, share: 0.8, cell: ({ at }) => <Time at={at} /> },
  {
    head: "User",
    minWidth: 120,
    cell: ({ caller, userId }) =>
      userId ? <Link to={paths.user(userId)}>{caller}</Link> : caller || "anonymous",
  },
  {
    head: "Action",
    share: 2.2,
    minWidth: 240,
    cell: ({ method }) => <code title={method}>{shortMethod(method)}</code>,
  },
  {
    head: "Target",
    share: 1.6,
    minWidth: 160,
    cell: ({ target }) => {
      const page = getTargetPath(target);
      return page ? <Link to={page}>{target}</Link> : <span title={target}>{target || "–"}</span>;
    },
  },
  {
    head: "Result",
    minWidth: 160,
    cell: ({ code }) =>
      code === "OK" ? (
        "OK"
      ) : (
        <span className={styles.refused}>
          <Icon name="cross" /> {code}
        </span>
      ),
  },
  { head: "Address", cell: ({ peer }) => peer },
  {
    head: "Request",
    minWidth: 128,
    cell: ({ requestId = "" }) => <CopyText text={requestId} label={requestId.slice(0, 8)} />,
  },
];

/** The audit log, newest records first, including refused calls. */
export default function Audit() {
  const [params] = useSearchParams();
  const { may } = usePermissions();
  const filter: AuditFilter = {
    username: params.get("username") ?? "",
    method: params.get("method") ?? "",
    since: params.get("since") ?? "",
    until: params.get("until") ?? "",
  };
  const read = useAudit(filter);
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetching } = read;
  const rows = data?.pages.flatMap(({ records = [] }) => records);
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const key = JSON.stringify(filter);
  return (
    <Page
      title="Audit"
      error={data ? undefined : explainForbidden(error)}
      {...(may("ADMINISTRATE_USER") && { onRetry: () => void refetch() })}
      head={
        <>
          <Count>
            {rows && `${formatCount(rows.length, "record")}${hasNextPage ? " loaded" : ""}`}
          </Count>
          <Actions actions={[{ label: "Refresh", run: () => refetch() }]} />
        </>
      }
    >
      <Filter key={key} filter={filter} />
      {error && data && <ErrorPanel error={error} onRetry={() => void fetchNextPage()} />}
      <ListTable<AuditRecord>
        label="Audit records"
        columns={columns}
        rows={rows}
        getId={({ id = "" }) => id}
        onEnd={onEnd}
      >
        <EmptyState command="det master audit">
          No records match the filter. Every call that changes something is recorded.
        </EmptyState>
      </ListTable>
    </Page>
  );
}

/** Replaces a refusal of the audit log by a message in the user's words. */
function explainForbidden(error: Error | null): Error | null {
  if (!(error instanceof ApiError) || error.status !== 403) return error;
  const { status, reason, requestId } = error;
  return new ApiError("Only cluster admins can see the audit log.", status, reason, requestId);
}
