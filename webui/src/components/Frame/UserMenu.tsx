import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { api } from "@/api/client";
import { session } from "@/api/session";
import { useMe } from "@/api/useMe";
import { Popover } from "../Popover/Popover";
import { paths } from "@/paths";
import styles from "./Frame.module.css";

/** The signed-in user, and sign-out. */
export function UserMenu() {
  const me = useMe();
  const client = useQueryClient();
  const navigate = useNavigate();
  const signOut = async () => {
    // An expired session is signed out already.
    await api.POST("/api/v1/auth/logout").catch(() => undefined);
    session.end();
    // At once: a page that is still shown would read its data again without a session.
    await navigate(paths.signIn("/"), { flushSync: true });
    client.clear();
  };
  if (!me) return null;
  return (
    <Popover
      size="menu"
      buttonClass={styles.user}
      label={
        <>
          <span aria-hidden>
            {(me.displayName || me.username || "?").slice(0, 2).toUpperCase()}
          </span>
          <span className="visually-hidden">Signed in as {me.username}</span>
        </>
      }
    >
      <p>{me.displayName || me.username}</p>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </Popover>
  );
}
