import DOMPurify from "dompurify";
import { marked } from "marked";

/** Converts Markdown to safe HTML: no scripts, no styles, nothing from another host. */
export function toHtml(markdown: string): string {
  return DOMPurify.sanitize(marked.parse(markdown, { async: false }), {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ["style", "img", "form", "input", "video", "audio", "iframe"],
    FORBID_ATTR: ["style", "background"],
  });
}
