import { Link, useLocation } from "react-router";
import { paths } from "@/paths";

export default function NotFound() {
  const { pathname } = useLocation();
  return (
    <>
      <h1>There is no page here</h1>
      <p>
        <code>{pathname}</code> is no address of this dashboard.{" "}
        <Link to={paths.home}>Go home</Link>
      </p>
    </>
  );
}
