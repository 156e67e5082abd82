import { useState, type SyntheticEvent } from "react";
import { useSearchParams } from "react-router";
import styles from "./Audit.module.css";
import type { AuditFilter } from "./useAudit";

/** Filters records by user, method and time; the address keeps them. */
export function Filter({ filter }: { filter: AuditFilter }) {
  const [params, setParams] = useSearchParams();
  const [draft, setDraft] = useState(filter);
  const apply = (next: AuditFilter) => {
    const address = new URLSearchParams(params);
    for (const [name, value] of Object.entries(next) as [string, string][]) {
      if (value.trim()) address.set(name, value.trim());
      else address.delete(name);
    }
    setParams(address);
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    apply(draft);
  };
  const input = (name: keyof AuditFilter) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) =>
      setDraft({ ...draft, [name]: event.target.value }),
  });
  const none = { username: "", method: "", since: "", until: "" };
  return (
    <form className={styles.filter} onSubmit={submit}>
      <label>
        User <input {...input("username")} autoCapitalize="none" />
      </label>
      <label>
        Method <input {...input("method")} placeholder="UserService." />
      </label>
      <label>
        From <input type="datetime-local" {...input("since")} />
      </label>
      <label>
        To <input type="datetime-local" {...input("until")} />
      </label>
      <div className={styles.buttons}>
        <button type="submit">Filter</button>
        {Object.values(filter).some(Boolean) && (
          <button
            type="button"
            onClick={() => {
              setDraft(none);
              apply(none);
            }}
          >
            Clear filters
          </button>
        )}
      </div>
    </form>
  );
}
