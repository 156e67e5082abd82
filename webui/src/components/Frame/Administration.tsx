import { NavLink, Outlet, useOutletContext } from "react-router";
import tabs from "../Tabs/Tabs.module.css";
import { useInSight } from "../Tabs/useInSight";
import styles from "./Frame.module.css";
import { adminPlaces } from "./places";
import { usePlaces } from "./usePlaces";

/** Around the pages of the administration: the way from one to the other. */
export function Administration() {
  const allowed = usePlaces();
  const context = useOutletContext();
  const row = useInSight<HTMLElement>();
  return (
    <div className={styles.administration}>
      <nav ref={row} className={tabs.tabs} aria-label="Administration">
        {adminPlaces
          .filter((place) => allowed.includes(place))
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
