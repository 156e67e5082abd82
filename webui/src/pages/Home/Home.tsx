import { Link } from "react-router";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { State } from "@/components/State/State";
import { paths } from "@/paths";
import { useRecent } from "./useRecent";

export default function Home() {
  const recent = useRecent();
  if (recent.isError) {
    return <ErrorPanel error={recent.error} onRetry={() => void recent.refetch()} />;
  }
  const experiments = recent.data?.experiments;
  return (
    <section aria-labelledby="recent">
      <h2 id="recent">Recent experiments</h2>
      {experiments?.length === 0 ? (
        <EmptyState command="det experiment create const.yaml .">No experiment yet.</EmptyState>
      ) : (
        <table>
          <tbody>
            {experiments?.map(({ id = 0, name, state }) => (
              <tr key={id}>
                <td>
                  <Link to={paths.experiment(id)}>
                    {id} {name}
                  </Link>
                </td>
                <td>
                  <State state={state} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
