import { Fragment, useEffect } from "react";
import { Link, useMatches } from "react-router";
import type { Crumb, PageHandle } from "./useCrumbs";
import styles from "./Frame.module.css";

/** The breadcrumb: the crumbs that the page sets, or the title of its route. */
export function Breadcrumb({ crumbs }: { crumbs: Crumb[] }) {
  const handle = useMatches().at(-1)?.handle as PageHandle | undefined;
  const shown = crumbs.length > 0 ? crumbs : [{ label: handle?.title ?? "" }];
  const title = shown.map((crumb) => crumb.label).reverse();
  useEffect(() => {
    document.title = [...title, "Resolute"].filter(Boolean).join(" · ");
  });
  return (
    <nav aria-label="Breadcrumb" className={styles.crumbs}>
      {shown.map(({ label, to }, i) => (
        <Fragment key={i}>
          {i > 0 && <span aria-hidden> / </span>}
          {to ? <Link to={to}>{label}</Link> : <span aria-current="page">{label}</span>}
        </Fragment>
      ))}
    </nav>
  );
}
