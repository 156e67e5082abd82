// Adds the service of a notebook, shell or TensorBoard to its definition: the description for
// resolute-runner, the secrets, and what users see of it (docs/tasks.md).
#ifndef MASTER_API_TASKS_SERVICE_TASK_H_
#define MASTER_API_TASKS_SERVICE_TASK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "det/api/v1/command.pb.h"
#include "master/api/tasks/task_view.h"
#include "master/api/tasks/tensorboard_sources.h"
#include "master/core/model/command_config.h"
#include "master/core/model/states.h"
#include "master/core/model/task_definition.h"
#include "master/store/interfaces/tasks.h"

namespace det::api {

// The command line with which the agent starts a task. `words`: of a command; of a service none.
std::vector<std::string> MakeRunnerArgv(model::TaskKind kind, const model::CommandConfig& config,
                                        const std::vector<std::string>& words);

// Adds nothing to a command. `sources`: of a TensorBoard.
absl::Status AddService(model::TaskKind kind, const model::TaskId& id,
                        const model::CommandConfig& config, const TensorboardSources& sources,
                        const v1::LaunchCommandRequest& request, model::TaskDefinition& definition);

// Set the members of a kind. `live`: null if the cluster does not know the task. `secrets`: whether
// the reader may see tokens and keys, that is, owns the task or may change it.
void FillService(const store::TaskRecord& record, const LiveTask* live, bool secrets,
                 v1::Command* out);
void FillService(const store::TaskRecord& record, const LiveTask* live, bool secrets,
                 v1::Notebook* out);
void FillService(const store::TaskRecord& record, const LiveTask* live, bool secrets,
                 v1::Shell* out);
void FillService(const store::TaskRecord& record, const LiveTask* live, bool secrets,
                 v1::Tensorboard* out);

}  // namespace det::api

#endif  // MASTER_API_TASKS_SERVICE_TASK_H_
