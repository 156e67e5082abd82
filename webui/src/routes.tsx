import type { QueryClient } from "@tanstack/react-query";
import {
  createBrowserRouter,
  Navigate,
  redirect,
  type LoaderFunctionArgs,
  type Params,
  type RouteObject,
} from "react-router";
import { prefetchTrial } from "@/api/trialQueries";
import { session } from "@/api/session";
import { Administration } from "@/components/Frame/Administration";
import { Frame } from "@/components/Frame/Frame";
import type { PageHandle } from "@/components/Frame/useCrumbs";
import { RouteError } from "@/components/ErrorPanel/RouteError";
import { lazyPart } from "@/components/LazyPart/lazyPart";
import { preload } from "@/components/LazyPart/preload";
import { prefetchLog } from "@/components/LogView/prefetch";
import { trialLog } from "@/components/LogView/source";
import { toOwnPath } from "./determinedPaths";
import { paths } from "./paths";

type PageModule = { default: React.ComponentType };

/**
 * A page in a chunk of its own, loaded when first shown. `ahead` prefetches its data while the chunk loads.
 */
function page(
  path: string,
  title: string,
  load: () => Promise<PageModule>,
  ahead?: (params: Params, url: URL) => void,
): RouteObject {
  const loadDefault = async () => (await load()).default;
  preload(loadDefault);
  return {
    path,
    handle: { title } satisfies PageHandle,
    errorElement: <RouteError />,
    lazy: () =>
      loadDefault().then(
        (Component) => ({ Component }),
        () => ({ Component: lazyPart(loadDefault) }),
      ),
    ...(ahead && {
      loader: ({ params, request }) => {
        ahead(params, new URL(request.url));
        return null;
      },
      // Changes of the query string only change the view: prefetch nothing.
      shouldRevalidate: ({ currentUrl, nextUrl }) => currentUrl.pathname !== nextUrl.pathname,
    }),
  };
}

function askToSignIn({ request }: { request: Request }) {
  const { pathname, search } = new URL(request.url);
  return session.isOpen() ? null : redirect(paths.signIn(pathname + search));
}

/** Leads from an address of Determined's dashboard, which begins with /det, to the page that shows the same. */
async function leadFromDetermined({ request }: LoaderFunctionArgs) {
  const { pathname, search } = new URL(request.url);
  return (
    askToSignIn({ request }) ?? redirect(await toOwnPath(pathname.slice("/det".length) + search))
  );
}

export const routesWith = (client: QueryClient): RouteObject[] => [
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
      page(
        "/trials/:id/:tab?",
        "Trial",
        () => import("./pages/Trial/Trial"),
        ({ id, tab }, { searchParams }) => {
          if (!session.isOpen()) return;
          void prefetchTrial(client, Number(id), tab);
          if (tab === "logs") prefetchLog(client, trialLog(Number(id)).path, searchParams);
        },
      ),
      page(paths.tasks, "Tasks", () => import("./pages/Tasks/Tasks")),
      page("/tasks/:id/open", "Open task", () => import("./pages/OpenTask/OpenTask")),
      page("/tasks/:id/:tab?", "Task", () => import("./pages/Task/Task")),
      page("/compare", "Compare", () => import("./pages/Compare/Compare")),
      page(paths.models, "Models", () => import("./pages/Models/Models")),
      page("/models/:name", "Model", () => import("./pages/Model/Model")),
      page(
        "/models/:name/versions/:version",
        "Model version",
        () => import("./pages/ModelVersion/ModelVersion"),
      ),
      page(paths.workspaces, "Workspaces", () => import("./pages/Workspaces/Workspaces")),
      page("/workspaces/:id/:tab?", "Workspace", () => import("./pages/Workspace/Workspace")),
      page("/projects/:id", "Project", () => import("./pages/Project/Project")),
      {
        path: paths.admin,
        element: <Administration />,
        children: [
          { index: true, element: <Navigate to={paths.users} replace /> },
          page(paths.users, "Users", () => import("./pages/Users/Users")),
          page("/admin/users/:id", "User", () => import("./pages/User/User")),
          page(paths.groups, "Groups", () => import("./pages/Groups/Groups")),
          page("/admin/groups/:id", "Group", () => import("./pages/Group/Group")),
          page(paths.roles, "Roles", () => import("./pages/Roles/Roles")),
          page("/admin/roles/:id", "Role", () => import("./pages/Role/Role")),
          page(paths.tokens, "Access tokens", () => import("./pages/Tokens/Tokens")),
          page(paths.templates, "Templates", () => import("./pages/Templates/Templates")),
          page("/admin/templates/:name", "Template", () => import("./pages/Template/Template")),
          page(paths.webhooks, "Webhooks", () => import("./pages/Webhooks/Webhooks")),
          page("/admin/webhooks/:id", "Webhook", () => import("./pages/Webhook/Webhook")),
          page(paths.policies, "Policies", () => import("./pages/Policies/Policies")),
          page(paths.audit, "Audit", () => import("./pages/Audit/Audit")),
        ],
      },
      page("*", "Not found", () => import("./pages/NotFound/NotFound")),
    ],
  },
  {
    ...page("/sign-in", "Sign in", () => import("./pages/SignIn/SignIn")),
    hydrateFallbackElement: <></>,
  },
  {
    path: "/det/*",
    loader: leadFromDetermined,
    element: <></>,
    errorElement: <RouteError />,
    hydrateFallbackElement: <></>,
  },
];

export const makeRouter = (client: QueryClient) => createBrowserRouter(routesWith(client));
