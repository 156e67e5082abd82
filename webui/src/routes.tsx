import { createBrowserRouter, Navigate, redirect, useParams, type RouteObject } from "react-router";
import { session } from "@/api/session";
import { Frame } from "@/components/Frame/Frame";
import { RouteError } from "@/components/ErrorPanel/RouteError";
import { paths } from "./paths";

/** `handle` of a page's route. */
export interface PageHandle {
  /** Its name in the breadcrumb, where the page says nothing better by useTitle. */
  title: string;
}

type PageModule = { default: React.ComponentType };

/** A page that is loaded when it is first shown: one chunk each. */
function page(path: string, title: string, load: () => Promise<PageModule>): RouteObject {
  return {
    path,
    handle: { title } satisfies PageHandle,
    errorElement: <RouteError />,
    lazy: async () => ({ Component: (await load()).default }),
  };
}

/** Links that people kept from Determined begin with /det. */
function FromDetermined() {
  return <Navigate to={`/${useParams()["*"] ?? ""}`} replace />;
}

function askToSignIn({ request }: { request: Request }) {
  const { pathname, search } = new URL(request.url);
  return session.isOpen() ? null : redirect(paths.signIn(pathname + search));
}

export const routes: RouteObject[] = [
  {
    element: <Frame />,
    loader: askToSignIn,
    errorElement: <RouteError />,
    hydrateFallbackElement: <></>,
    children: [
      page(paths.home, "Home", () => import("./pages/Home/Home")),
      page(`${paths.cluster}/:tab?`, "Cluster", () => import("./pages/Cluster/Cluster")),
      page(paths.experiments, "Experiments", () => import("./pages/Experiments/Experiments")),
      page("/experiments/:id/:tab?", "Experiment", () => import("./pages/Experiment/Experiment")),
      page("/trials/:id/:tab?", "Trial", () => import("./pages/Trial/Trial")),
      page("/compare", "Compare", () => import("./pages/Compare/Compare")),
      page("*", "Not found", () => import("./pages/NotFound/NotFound")),
    ],
  },
  {
    ...page("/sign-in", "Sign in", () => import("./pages/SignIn/SignIn")),
    hydrateFallbackElement: <></>,
  },
  { path: "/det/*", element: <FromDetermined /> },
];

export const makeRouter = () => createBrowserRouter(routes);
