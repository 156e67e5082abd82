/** The addresses of pages, each written once. Ids are the API's. */
export const paths = {
  home: "/",
  signIn: (next: string) => `/sign-in?next=${encodeURIComponent(next)}`,
  experiments: "/experiments",
  experiment: (id: number, tab = "") => `/experiments/${id}${tab && `/${tab}`}`,
  trial: (id: number, tab = "") => `/trials/${id}${tab && `/${tab}`}`,
  compare: (trials: readonly number[]) => `/compare?trials=${trials.join(",")}`,
  cluster: "/cluster",
};
