import { NavLink, Outlet, useOutletContext } from "react-router";
import tabs from "../Tabs/Tabs.module.css";
import { useScrollIntoView } from "../Tabs/useScrollIntoView";
import styles from "./Frame.module.css";
import { adminNavItems } from "./navItems";
import { useNavItems } from "./useNavItems";

/** The layout of the administration pages, with their tabs. */
export function Administration() {
  const allowed = useNavItems();
  const context = useOutletContext();
  const row = useScrollIntoView<HTMLElement>();
  return (
    <div className={styles.administration}>
      <nav ref={row} className={tabs.tabs} aria-label="Administration">
        {adminNavItems
          .filter((item) => allowed.includes(item))
          .map(({ to, label }) => (
            <NavLink key={to} to={to}>
              {label}
            </NavLink>
          ))}
      </nav>
      <div className={styles.administered}>
        <Outlet context={context} />
      </div>
    </div>
  );
}
