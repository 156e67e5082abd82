/** A text that no other call returns; crypto.randomUUID exists behind TLS and on localhost alone. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
