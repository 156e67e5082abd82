import DOMPurify from "dompurify";
import { marked } from "marked";

/** Markdown as HTML that cannot do anything: no script, no style, nothing from another host. */
export function toHtml(markdown: string): string {
  return DOMPurify.sanitize(marked.parse(markdown, { async: false }), {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ["style", "img", "form", "input", "video", "audio", "iframe"],
    FORBID_ATTR: ["style", "background"],
  });
}
