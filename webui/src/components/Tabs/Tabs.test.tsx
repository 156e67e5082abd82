import { render, screen } from "@testing-library/react";
import { createMemoryRouter, RouterProvider } from "react-router";
import { expect, test, vi } from "vitest";
import { Tabs } from "./Tabs";

test("scrolls the current tab into view", () => {
  const get = (name: "offsetLeft" | "offsetWidth", of: (element: HTMLElement) => number) =>
    vi.spyOn(HTMLElement.prototype, name, "get").mockImplementation(function (this: HTMLElement) {
      return of(this);
    });
  get("offsetLeft", ({ textContent }) => (textContent === "Logs" ? 500 : 0));
  get("offsetWidth", () => 60);
  vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(390);
  const tabs = ["", "logs"].map((name) => ({ name, label: name ? "Logs" : "Overview" }));
  const element = <Tabs label="Parts" tabs={tabs} to={(name) => `/x/${name}`} />;
  const router = createMemoryRouter([{ path: "*", element }], { initialEntries: ["/x/logs"] });
  render(<RouterProvider router={router} />);
  expect(screen.getByRole("link", { name: "Logs" })).toHaveAttribute("aria-current", "page");
  expect(screen.getByRole("navigation").scrollLeft).toBe(500 + 60 - 390);
});
