import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { lazyPart } from "./lazyPart";

const Content = ({ text }: { text: string }) => <p>{text}</p>;

it("says that its code is missing, keeps the page, and retries", async () => {
  let isThere = false;
  let loads = 0;
  const Part = lazyPart<{ text: string }>(() => {
    ++loads;
    return isThere ? Promise.resolve(Content) : Promise.reject(new Error("no chunk"));
  });
  render(
    <>
      <h1>Page</h1>
      <Part text="content" />
    </>,
  );
  expect(await screen.findByText(/could not be loaded/)).toBeVisible();
  expect(screen.getByRole("heading", { name: "Page" })).toBeVisible();
  isThere = true;
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(await screen.findByText("content")).toBeVisible();
  expect(screen.queryByText(/could not be loaded/)).toBeNull();
  const before = loads;
  render(<Part text="again" />);
  expect(screen.getByText("again")).toBeVisible();
  expect(loads).toBe(before);
});
