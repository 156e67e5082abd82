/** A path and the value of each object at it (undefined if missing). */
export interface Difference {
  path: string;
  values: unknown[];
}

/** The leaves of an object by path; lists are leaves. */
export function flattenLeaves(value: unknown, path = ""): Map<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return new Map(path ? [[path, value]] : []);
  }
  const leaves = new Map<string, unknown>();
  for (const [name, inside] of Object.entries(value)) {
    for (const [at, leaf] of flattenLeaves(inside, path ? `${path}.${name}` : name))
      leaves.set(at, leaf);
  }
  return leaves;
}

/** All paths of the objects, and whether the values differ. */
export function compareLeaves(objects: readonly unknown[]): (Difference & { differs: boolean })[] {
  const leaves = objects.map((object) => flattenLeaves(object));
  const paths = [...new Set(leaves.flatMap((each) => [...each.keys()]))].sort();
  return paths.map((path) => {
    const values = leaves.map((each) => each.get(path));
    const differs = new Set(values.map((value) => JSON.stringify(value))).size > 1;
    return { path, values, differs };
  });
}

/** The paths at which objects differ. */
export function findDifferences(objects: readonly unknown[]): Difference[] {
  return compareLeaves(objects)
    .filter(({ differs }) => differs)
    .map(({ path, values }) => ({ path, values }));
}
