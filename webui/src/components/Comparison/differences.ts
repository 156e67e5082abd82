/** A path in some objects, and what each of them has there (undefined: nothing). */
export interface Difference {
  path: string;
  values: unknown[];
}

/** The leaves of an object by their paths; lists are leaves. */
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

/** All that objects have, by path, and whether they differ there. */
export function compareLeaves(objects: readonly unknown[]): (Difference & { differs: boolean })[] {
  const leaves = objects.map((object) => flattenLeaves(object));
  const paths = [...new Set(leaves.flatMap((each) => [...each.keys()]))].sort();
  return paths.map((path) => {
    const values = leaves.map((each) => each.get(path));
    const differs = new Set(values.map((value) => JSON.stringify(value))).size > 1;
    return { path, values, differs };
  });
}

/** Where objects differ, by path. */
export function findDifferences(objects: readonly unknown[]): Difference[] {
  return compareLeaves(objects)
    .filter(({ differs }) => differs)
    .map(({ path, values }) => ({ path, values }));
}
