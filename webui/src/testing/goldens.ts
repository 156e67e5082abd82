/**
 * Copies a part of a real master's response and changes some values. `golden` comes from `@goldens`, which
 * tests/contract compares with a real master. A field that the golden lacks cannot be set, so that no page is
 * tested with data that no master sends.
 */
export function copyGolden<T extends object>(
  golden: object | undefined,
  values: Partial<T> = {},
): T {
  if (golden === undefined) throw new Error("the golden has no such element");
  for (const name of Object.keys(values)) {
    if (!(name in golden)) throw new Error(`the golden has no field ${name}`);
  }
  return { ...golden, ...values } as T;
}
