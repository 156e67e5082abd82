import { useState } from "react";
import { Icon } from "../Icon/Icon";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

function read(): Theme {
  const kept = localStorage.getItem("theme");
  return themes.find((theme) => theme === kept) ?? "system";
}

/** Cycles through the system, light and dark themes; stored in this browser (public/theme.js reads it). */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(read);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "system";
  const change = () => {
    setTheme(next);
    if (next === "system") {
      localStorage.removeItem("theme");
      delete document.documentElement.dataset["theme"];
    } else {
      localStorage.setItem("theme", next);
      document.documentElement.dataset["theme"] = next;
    }
  };
  return (
    <button
      type="button"
      className="plain"
      onClick={change}
      title={`Theme: ${theme}. Switch to ${next}`}
      aria-label={`Theme: ${theme}. Switch to ${next}`}
    >
      <Icon name={theme} />
    </button>
  );
}
