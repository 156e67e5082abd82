// Generates the reference documentation.
#include <string>

#include "absl/strings/str_cat.h"
#include "master/app/config_fields.h"
#include "master/core/model/fields_page.h"
#include "master/parse/task_defaults.h"

namespace det::app {
namespace {

constexpr char kHead[] = R"(# Configuration of the master

Written from the table of fields in `master/app/config_fields.cc` by `bazel run //tools:master_config_doc`;
a test keeps this page equal to it.

`resolute-master --config FILE` reads one YAML document. A flag wins over the file
(`resolute-master --help`), `$DET_ADMIN_PASSWORD` and `$DET_USER_PASSWORD` over a password in it.
`null` is the same as leaving a key out. An unknown key is refused; all problems are said at once,
each with its line and path, and the master does not start. `det deploy local up --master-config
FILE` hands the file on.

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

Of the cluster or of a pool. The pool's go over the cluster's, the experiment's template and its own
configuration over both, as layers of an [experiment's configuration](experiment-config.md) merge.
)";

}  // namespace

std::string MasterConfigPage() {
  return absl::StrCat(kHead, "\n## General\n", model::GeneralTable(ConfigFields()),
                      model::SectionTables(ConfigFields()), kTaskDefaults,
                      model::TaskDefaultsTable());
}

}  // namespace det::app
