/**
 * Copies a text; returns false if the browser refuses. The clipboard API exists only with TLS and on
 * localhost.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    // The clipboard is undefined without TLS, although its type does not say so.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** Copies by selecting the text, and restores the focus. */
function copySelected(text: string): boolean {
  const focused = document.activeElement;
  const field = document.createElement("textarea");
  field.className = "visually-hidden";
  field.value = text;
  document.body.append(field);
  field.focus();
  field.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- without TLS there is nothing else
  const isCopied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
