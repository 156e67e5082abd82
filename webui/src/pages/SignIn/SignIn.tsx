import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { api, unwrap } from "@/api/client";
import { session } from "@/api/session";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Icon } from "@/components/Icon/Icon";
import { parseOwn } from "@/paths";
import styles from "./SignIn.module.css";

interface Credentials {
  username: string;
  password: string;
}

/** Accepts only addresses of this dashboard: "//elsewhere" would be another host. */
function safe(next: string | null): string {
  if (next === null || !/^\/(?![/\\])/.test(next)) return "/";
  const { pathname, search, hash } = parseOwn(next);
  return pathname + search + hash;
}

function useSignIn(next: string) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (body: Credentials) => unwrap(api.POST("/api/v1/auth/login", { body })),
    onSuccess: () => {
      session.begin();
      client.clear();
      // The service of a task is not a page of the dashboard.
      if (next.startsWith("/proxy/")) window.location.replace(next);
      else void navigate(next, { replace: true });
    },
  });
}

/** The sign-in page. The session is an HttpOnly cookie that the master sets. */
export default function SignIn() {
  const [search] = useSearchParams();
  const signIn = useSignIn(safe(search.get("next")));
  useEffect(() => {
    document.title = "Sign in · Resolute";
  });
  const submit = (event: React.SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => form.get(name) as string;
    signIn.mutate({ username: text("username"), password: text("password") });
  };
  return (
    <main className={styles.page}>
      <form className={styles.form} onSubmit={submit}>
        <h1>
          <span className={styles.logo}>
            <Icon name="logo" />
          </span>{" "}
          Resolute
        </h1>
        <label>
          Username
          <input name="username" autoComplete="username" autoCapitalize="none" required autoFocus />
        </label>
        <label>
          Password
          <input name="password" type="password" autoComplete="current-password" />
        </label>
        {signIn.isError && <ErrorPanel error={signIn.error} />}
        <button type="submit" className="primary" disabled={signIn.isPending}>
          Sign in
        </button>
        <p className={styles.hint}>
          Forgot your password? Ask an administrator to run <code>det user change-password</code>.
        </p>
      </form>
    </main>
  );
}
