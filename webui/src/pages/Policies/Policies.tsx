import { usePermissions } from "@/api/usePermissions";
import { Page } from "@/components/Page/Page";
import { Policies as PoliciesEditor } from "@/components/Policies/Policies";

/** The config policies of the cluster. */
export default function Policies() {
  const { may } = usePermissions();
  return (
    <Page title="Policies">
      <PoliciesEditor
        scope={{}}
        of="the cluster"
        mayChange={may("MODIFY_GLOBAL_CONFIG_POLICIES")}
      />
    </Page>
  );
}
