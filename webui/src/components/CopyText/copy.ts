/** Copies a text; false if the browser refuses. Its clipboard exists behind TLS and on localhost alone. */
export async function copyText(text: string): Promise<boolean> {
  try {
    // Undefined elsewhere, whatever its type says.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** As by selecting it and Ctrl C; what had the focus has it again. */
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
