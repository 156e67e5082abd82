import { useRouteError } from "react-router";
import { ErrorPanel } from "./ErrorPanel";

/** Shown instead of a page that failed to load or render. */
export function RouteError() {
  return <ErrorPanel error={useRouteError()} onRetry={() => location.reload()} />;
}
