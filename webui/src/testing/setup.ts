import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

afterEach(cleanup);

// A bound against hanging, on a machine that does other things, too.
configure({ asyncUtilTimeout: 30_000 });
