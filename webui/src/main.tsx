import "./tokens.css";
import "./base.css";
import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router/dom";
import { ApiError } from "./api/client";
import { session } from "./api/session";
import { paths } from "./paths";
import { makeRouter } from "./routes";

function askToSignIn() {
  session.end();
  const { pathname, search } = router.state.location;
  if (pathname !== "/sign-in") void router.navigate(paths.signIn(pathname + search));
}

const isSignedOut = (error: unknown) => error instanceof ApiError && error.status === 401;
const isRefused = (error: unknown) =>
  error instanceof ApiError && error.status >= 400 && error.status < 500;

const client = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => isSignedOut(error) && askToSignIn() }),
  defaultOptions: {
    queries: {
      retry: (count, error) => !isRefused(error) && count < 2,
      refetchOnWindowFocus: false,
    },
  },
});

const router = makeRouter(client);

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
