/** The addresses of pages, each written once. Ids are the API's. */
export const paths = {
  home: "/",
  signIn: (next: string) => `/sign-in?next=${encodeURIComponent(next)}`,
  experiments: "/experiments",
  experiment: (id: number, tab = "") => `/experiments/${id}${tab && `/${tab}`}`,
  /** The form for a search around a trial, or one that goes on from it; without a trial, from the best. */
  startFrom: (experiment: number, purpose: "search" | "continue", trial?: number) =>
    `/experiments/${experiment}/fork?for=${purpose}${trial ? `&trial=${trial}` : ""}`,
  trial: (id: number, tab = "") => `/trials/${id}${tab && `/${tab}`}`,
  compare: (trials: readonly number[]) => `/compare?trials=${trials.join(",")}`,
  cluster: "/cluster",
};
