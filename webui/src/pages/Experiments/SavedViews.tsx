import { useState, type SyntheticEvent } from "react";
import { Link } from "react-router";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Icon } from "@/components/Icon/Icon";
import { Popover } from "@/components/Popover/Popover";
import styles from "./Experiments.module.css";
import { useSavedViews } from "./useSavedViews";

/** The user's saved views; saving under an existing name replaces the view. */
export function SavedViews({ query }: { query: string }) {
  const { views, change, error } = useSavedViews();
  const [name, setName] = useState("");
  const save = (event: SyntheticEvent) => {
    event.preventDefault();
    const view = { name: name.trim(), query };
    if (!view.name) return;
    change((now) => [...now.filter((each) => each.name !== view.name), view], {
      onSuccess: () => setName(""),
    });
  };
  const deleteView = (removedName: string) => {
    if (confirm(`Delete the view ${removedName}?`))
      change((now) => now.filter((each) => each.name !== removedName));
  };
  return (
    <Popover label={<>Views{views && views.length > 0 && ` ${views.length}`}</>}>
      {(close) => (
        <>
          {views?.map((view) => (
            <div key={view.name} className={styles.view}>
              <Link to={`?${view.query}`} onClick={close}>
                {view.name}
              </Link>
              <button
                type="button"
                className="plain"
                aria-label={`Delete view ${view.name}`}
                onClick={() => deleteView(view.name)}
              >
                <Icon name="close" />
              </button>
            </div>
          ))}
          <form onSubmit={save} className={styles.view}>
            <input
              placeholder="Name of this view"
              aria-label="Name of this view"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
            <button type="submit" disabled={!views}>
              Save
            </button>
          </form>
          {error && <ErrorPanel error={error} />}
        </>
      )}
    </Popover>
  );
}
