// Generates the reference documentation.
#include <string>

#include "absl/strings/str_cat.h"
#include "master/app/config_fields.h"
#include "master/core/model/fields_page.h"
#include "master/parse/task_defaults.h"

namespace det::app {
namespace {

constexpr char kHead[] = R"(# Configuration of the master

This page is generated from the table of fields in `master/app/config_fields.cc` by
`bazel run //tools:master_config_doc`; a test checks that it is current.

`resolute-master --config FILE` reads one YAML document. Flags override the file
(`resolute-master --help`), and `$DET_ADMIN_PASSWORD` and `$DET_USER_PASSWORD` override a password in it.
`null` is the same as an absent key. If the file has an unknown key or an invalid value, the master reports
all problems with their line and path, and does not start. `det deploy local up --master-config FILE` passes
the file to the master.

```yaml
cluster_name: lab
checkpoint_storage: {type: shared_fs, host_path: /mnt/checkpoints}
resource_manager:
  default_compute_resource_pool: gpus
  default_aux_resource_pool: small
resource_pools:
- pool_name: gpus
  scheduler: {type: fair_share, preemption: true, hold_after: 10m}
- pool_name: small
  shared_devices: true
  workspaces: [Uncategorized, teaching]
quotas:
- {scope: workspace, name: teaching, max_slots: 8, slot_hours: 500}
topology:
- {switch: leaf-1, agents: [node-1, node-2], islands: [[0, 1, 2, 3], [4, 5, 6, 7]]}
```
)";

constexpr char kTaskDefaults[] = R"(
## task_container_defaults

Defaults for tasks, of the cluster or of a resource pool. Those of the pool override those of the cluster; the
template and the configuration of an experiment override both, like the layers of an
[experiment's configuration](experiment-config.md).
)";

}  // namespace

std::string MasterConfigPage() {
  return absl::StrCat(kHead, "\n## General\n", model::GeneralTable(ConfigFields()),
                      model::SectionTables(ConfigFields()), kTaskDefaults,
                      model::TaskDefaultsTable());
}

}  // namespace det::app
