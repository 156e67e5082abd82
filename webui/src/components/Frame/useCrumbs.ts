import { useEffect } from "react";
import { useOutletContext } from "react-router";

/** A part of the breadcrumb; the last one has no address. */
export interface Crumb {
  label: string;
  to?: string;
}

/** The `handle` of a page's route. */
export interface PageHandle {
  /** The page's name in the breadcrumb unless it sets crumbs with useCrumbs. */
  title: string;
}

export interface FrameContext {
  setCrumbs: (crumbs: Crumb[]) => void;
}

/** Sets the breadcrumb and the window title of the page. */
export function useCrumbs(crumbs: Crumb[]) {
  const { setCrumbs } = useOutletContext<FrameContext>();
  const text = JSON.stringify(crumbs);
  useEffect(() => {
    setCrumbs(JSON.parse(text) as Crumb[]);
    return () => setCrumbs([]);
  }, [setCrumbs, text]);
}
