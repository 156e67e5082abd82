import { useMemo, useState } from "react";
import { Outlet } from "react-router";
import { Breadcrumb } from "./Breadcrumb";
import { Rail } from "./Rail";
import { ThemeSwitch } from "./ThemeSwitch";
import { UserMenu } from "./UserMenu";
import type { Crumb, FrameContext } from "./useCrumbs";
import styles from "./Frame.module.css";

/** What is around every page: the rail, where one is, the theme, the user. */
export function Frame() {
  const [crumbs, setCrumbs] = useState<Crumb[]>([]);
  const context = useMemo<FrameContext>(() => ({ setCrumbs }), []);
  return (
    <div className={styles.frame}>
      <a href="#content" className={styles.skip}>
        To the content
      </a>
      <Rail />
      <header className={styles.bar}>
        <Breadcrumb crumbs={crumbs} />
        <div className={styles.tools}>
          <ThemeSwitch />
          <UserMenu />
        </div>
      </header>
      <main id="content" className={styles.content} tabIndex={-1}>
        <Outlet context={context} />
      </main>
    </div>
  );
}
