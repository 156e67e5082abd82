// The content security policy of the dashboard forbids style elements and style attributes that are set as text;
// xterm.js uses both. Style sheets of scripts and properties of `style` are allowed.

/** A style element whose text is the content of a style sheet of the document, as long as it is not removed. */
function createStyleElement(): HTMLStyleElement {
  const element = document.createElement("style");
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

function setAttribute(this: HTMLElement, name: string, value: string) {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

function createElement(name: string): HTMLElement {
  if (name === "style") return createStyleElement();
  return Object.assign(document.createElement(name), { setAttribute });
}

/** The document, for xterm.js: its elements get their styles as the content security policy allows. */
export function makeStyledDocument(): Document {
  return new Proxy(document, {
    get(target, name) {
      if (name === "createElement") return createElement;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
