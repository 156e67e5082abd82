import { useEffect, useState, type ComponentType } from "react";
import { api } from "@/api/client";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import { preload } from "./preload";

/**
 * A part of a page whose code is loaded when it is first shown, or before if the browser is idle. If the code cannot
 * be loaded, the part says so and offers to try again; the rest of the page stays.
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  const read = async () => (loaded ??= await load());
  preload(read);
  return function Part(props: Props) {
    const [Content, setContent] = useState(() => loaded);
    const [isMissing, setMissing] = useState(false);
    const [attempt, setAttempt] = useState(1);
    useEffect(() => {
      if (Content) return;
      let isCurrent = true;
      read().then(
        (component) => isCurrent && setContent(() => component),
        async () => {
          // Some browsers keep the failure, and a new version of the master has other files.
          if (attempt > 1 && (await isMasterHere())) location.reload();
          if (isCurrent) setMissing(true);
        },
      );
      return () => {
        isCurrent = false;
      };
    }, [Content, attempt]);
    if (Content) return <Content {...props} />;
    if (!isMissing) return null;
    const retry = () => {
      setMissing(false);
      setAttempt(attempt + 1);
    };
    return <ErrorPanel error={NOT_LOADED} onRetry={retry} />;
  };
}

const NOT_LOADED =
  "This part of the dashboard could not be loaded. Check the network connection, then retry.";

const isMasterHere = () =>
  api.GET("/api/v1/master").then(
    () => true,
    () => false,
  );
