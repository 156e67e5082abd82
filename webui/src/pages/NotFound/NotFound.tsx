import { Link, useLocation } from "react-router";
import { paths } from "@/paths";

export default function NotFound() {
  const { pathname } = useLocation();
  return (
    <>
      <h1>Page not found</h1>
      <p>
        The dashboard has no page at <code>{pathname}</code>.{" "}
        <Link to={paths.home}>Go to Home</Link>
      </p>
    </>
  );
}
