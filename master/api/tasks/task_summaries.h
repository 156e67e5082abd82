// Summaries of the allocations that hold slots or wait for them.
//
// Called by services on the pool; `done` runs on the engine's loop.
#ifndef MASTER_API_TASKS_TASK_SUMMARIES_H_
#define MASTER_API_TASKS_TASK_SUMMARIES_H_

#include "det/api/v1/task.pb.h"
#include "master/api/rpc/call.h"

namespace det::api {

// Adds the allocations in the workspaces that the caller may view. `response` must stay valid until
// `done` is called.
void ReadTaskSummaries(engine::Engine& engine, const auth::Principal& caller,
                       v1::GetTasksResponse* response, Done done);

}  // namespace det::api

#endif  // MASTER_API_TASKS_TASK_SUMMARIES_H_
