import { useMemo, useState } from "react";
import { Outlet } from "react-router";
import { useOverviewStream } from "@/api/useOverview";
import { Palette } from "../Palette/Palette";
import { Shortcuts } from "../Palette/Shortcuts";
import { Breadcrumb } from "./Breadcrumb";
import { ConnectionBanner } from "./ConnectionBanner";
import { Pulse } from "./Pulse";
import { Rail } from "./Rail";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import { ThemeSwitch } from "./ThemeSwitch";
import { UserMenu } from "./UserMenu";
import type { Crumb, FrameContext } from "./useCrumbs";
import styles from "./Frame.module.css";

/** The frame of every page: rail, breadcrumb, theme, user menu. */
export function Frame() {
  const [crumbs, setCrumbs] = useState<Crumb[]>([]);
  const stream = useOverviewStream();
  const context = useMemo<FrameContext>(() => ({ setCrumbs }), []);
  return (
    <div className={styles.frame}>
      <a href="#content" className={styles.skip}>
        Skip to content
      </a>
      <Rail foot={<Pulse live={stream.live} />} />
      <header className={styles.bar}>
        <Breadcrumb crumbs={crumbs} />
        <div className={styles.tools}>
          <Palette />
          <Shortcuts />
          <ThemeSwitch />
          <UserMenu />
        </div>
      </header>
      <main id="content" className={styles.content} tabIndex={-1}>
        {stream.error && <ErrorPanel error={stream.error} />}
        <Outlet context={context} />
      </main>
      <ConnectionBanner live={stream.live || stream.error !== null} />
    </div>
  );
}
