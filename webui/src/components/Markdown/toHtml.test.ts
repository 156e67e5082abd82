import { expect, it } from "vitest";
import { toHtml } from "./toHtml";

it("removes active content", () => {
  const html = toHtml(
    "# Head\n<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n[a](javascript:alert(1)) **b**\n\n" +
      '<table background="//x"><tr><td>c</td></tr></table><svg><image href="//x"/></svg>',
  );
  expect(html).toContain("<h1>Head</h1>");
  expect(html).toContain("<strong>b</strong>");
  expect(html).not.toMatch(/script|onerror|<img|background|svg|image/);
});
