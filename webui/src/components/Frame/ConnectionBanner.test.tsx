import { act, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { ConnectionBanner } from "./ConnectionBanner";

afterEach(() => vi.useRealTimers());

/** Shows the banner for a stream that is `live`; `answer` is the master's, or undefined for none. */
function show(answer: () => Response | undefined) {
  vi.useFakeTimers({
    shouldAdvanceTime: true,
    advanceTimeDelta: 500,
    toFake: ["setTimeout", "clearTimeout"],
  });
  vi.stubGlobal("fetch", () => {
    const response = answer();
    return response ? Promise.resolve(response) : Promise.reject(new TypeError("no network"));
  });
  const { rerender } = render(<ConnectionBanner live />);
  return (live: boolean) => rerender(<ConnectionBanner live={live} />);
}

it("says when the master does not answer, and when it is back", async () => {
  const answers: Response[] = [];
  const setLive = show(() => answers[0]?.clone());
  expect(screen.getByRole("status")).toBeEmptyDOMElement();
  setLive(false);
  expect(await screen.findByText(/The master does not answer/)).toBeVisible();
  answers.push(new Response("", { status: 503 }));
  await act(() => vi.advanceTimersByTimeAsync(6000));
  expect(screen.getByText(/The master does not answer/)).toBeVisible();
  setLive(true);
  expect(screen.getByRole("status")).toBeEmptyDOMElement();
});

it("says when there is no network, unless the master answers", async () => {
  let response: Response | undefined = Response.json({});
  const online = vi.spyOn(navigator, "onLine", "get").mockReturnValue(true);
  show(() => response?.clone());
  const setOnline = (is: boolean) => {
    online.mockReturnValue(is);
    act(() => void dispatchEvent(new Event(is ? "online" : "offline")));
  };
  setOnline(false);
  await act(() => vi.advanceTimersByTimeAsync(6000));
  expect(screen.getByRole("status"), "a local master needs no network").toBeEmptyDOMElement();
  response = undefined;
  expect(await screen.findByText(/No network connection/)).toBeVisible();
  setOnline(true);
  await waitFor(() => expect(screen.getByRole("status")).toBeEmptyDOMElement());
});
