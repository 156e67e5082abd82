import { useRouteError } from "react-router";
import { ErrorPanel } from "./ErrorPanel";

/** In place of a page that could not be loaded or shown. */
export function RouteError() {
  return <ErrorPanel error={useRouteError()} onRetry={() => location.reload()} />;
}
