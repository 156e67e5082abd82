import { useRoles } from "@/api/useRoles";
import { Page } from "@/components/Page/Page";
import { Policies as PoliciesEditor } from "@/components/Policies/Policies";

/** The config policies of the cluster. */
export default function Policies() {
  const { may } = useRoles();
  return (
    <Page title="Policies">
      <PoliciesEditor scope={{}} of="the cluster" mayChange={may("ClusterAdmin")} />
    </Page>
  );
}
