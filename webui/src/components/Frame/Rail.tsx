import type { ReactNode } from "react";
import { NavLink } from "react-router";
import { paths } from "@/paths";
import { Icon } from "../Icon/Icon";
import { navItems } from "./navItems";
import styles from "./Frame.module.css";

/** The main navigation; `foot` stays at its lower end. */
export function Rail({ foot }: { foot?: ReactNode }) {
  return (
    <div className={styles.rail}>
      <NavLink to={paths.home} className={styles.logo} aria-label="Resolute home">
        <Icon name="logo" />
      </NavLink>
      <nav aria-label="Main navigation">
        {navItems.map(({ to, label, icon }) => (
          <NavLink key={to} to={to} end={to === "/"} title={label} className={styles.link}>
            <Icon name={icon} />
            <span className={styles.label}>{label}</span>
          </NavLink>
        ))}
        <NavLink
          to={paths.admin}
          title="Administration"
          className={`${styles.link} ${styles.apart}`}
        >
          <Icon name="admin" />
          <span className={styles.label}>Admin</span>
        </NavLink>
      </nav>
      <div className={styles.foot}>{foot}</div>
    </div>
  );
}
