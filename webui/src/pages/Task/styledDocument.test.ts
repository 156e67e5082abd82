import { afterEach, expect, it, vi } from "vitest";
import { makeStyledDocument } from "./styledDocument";

const rules: string[] = [];

afterEach(() => {
  rules.length = 0;
  Reflect.deleteProperty(document, "adoptedStyleSheets");
});

/** jsdom has no style sheets of scripts. */
function stubSheets() {
  vi.stubGlobal(
    "CSSStyleSheet",
    class {
      replaceSync = (text: string) => void rules.push(text);
    },
  );
  Object.assign(document, { adoptedStyleSheets: [] });
}

it("puts the rules of a style element into a style sheet of the document until it is removed", () => {
  stubSheets();
  const styled = makeStyledDocument();
  expect(styled instanceof Document).toBe(true);
  const style = styled.createElement("style");
  document.body.append(style);
  style.textContent = "a { color: red }";
  expect(rules).toEqual(["a { color: red }"]);
  expect(document.querySelector("style")).toBeNull();
  expect(document.adoptedStyleSheets).toHaveLength(1);
  style.remove();
  expect(document.adoptedStyleSheets).toHaveLength(0);
  expect(style.isConnected).toBe(false);
});

it("sets the style of an element by its properties", () => {
  makeStyledDocument();
  const element = document.createElement("span");
  element.setAttribute("style", "color: red;");
  element.setAttribute("title", "a");
  expect(element.style.color).toBe("red");
  expect(element.title).toBe("a");
});
