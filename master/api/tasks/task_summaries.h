// Summaries of the allocations that hold slots or wait for them, and of the experiments whose
// checkpoint files are being removed. The master removes them itself, but scripts of existing
// clients wait for such a task to end.
//
// Called by services on the pool, blocks on the store; `done` runs on the engine's loop, unless the
// store fails.
#ifndef MASTER_API_TASKS_TASK_SUMMARIES_H_
#define MASTER_API_TASKS_TASK_SUMMARIES_H_

#include "det/api/v1/task.pb.h"
#include "master/api/rpc/call.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// Adds those in the workspaces that the caller may view. `response` must stay valid until
// `done` is called.
void ReadTaskSummaries(engine::Engine& engine, store::Store& store, const auth::Principal& caller,
                       v1::GetTasksResponse* response, Done done);

}  // namespace det::api

#endif  // MASTER_API_TASKS_TASK_SUMMARIES_H_
