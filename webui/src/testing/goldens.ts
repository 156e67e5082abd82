/**
 * A part of a master's answer with other values. `golden` is from `@goldens`, which tests/contract holds
 * against a real master; a field that it has not cannot be given to it, so that no page is tested with
 * what no master says.
 */
export function like<T extends object>(golden: object | undefined, values: Partial<T> = {}): T {
  if (golden === undefined) throw new Error("the golden has no such element");
  for (const name of Object.keys(values)) {
    if (!(name in golden)) throw new Error(`the golden has no field ${name}`);
  }
  return { ...golden, ...values } as T;
}
