import { useEffect } from "react";
import { useOutletContext } from "react-router";

/** A part of "where am I"; the last one has no address. */
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

/** Says where the page is, in the breadcrumb and in the window's title. */
export function useCrumbs(crumbs: Crumb[]) {
  const { setCrumbs } = useOutletContext<FrameContext>();
  const text = JSON.stringify(crumbs);
  useEffect(() => {
    setCrumbs(JSON.parse(text) as Crumb[]);
    return () => setCrumbs([]);
  }, [setCrumbs, text]);
}
