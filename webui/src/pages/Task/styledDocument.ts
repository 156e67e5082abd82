// The content security policy of the dashboard forbids style elements and style attributes that are set as text;
// xterm.js uses both. Style sheets of scripts and properties of `style` are allowed.

/** Stands for a style element: its text is the content of a style sheet of the document, until it is removed. */
function createStyleElement(): HTMLElement {
  const element = document.createElement("template");
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, "textContent", {
    set: (text: string) => sheet.replaceSync(text),
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}

const createElement = (name: string) =>
  name === "style" ? createStyleElement() : document.createElement(name);

function setAttribute(this: HTMLElement, name: string, value: string) {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

/** The document, for xterm.js: its elements get their styles as the content security policy allows. */
export function makeStyledDocument(): Document {
  // xterm.js creates the pieces of its rows with the document itself.
  HTMLSpanElement.prototype.setAttribute = setAttribute;
  return new Proxy(document, {
    get(target, name) {
      if (name === "createElement") return createElement;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
