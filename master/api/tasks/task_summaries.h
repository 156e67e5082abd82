// What holds slots or waits for them, as people may see it.
//
// Called by services on the pool; answers on the engine's loop.
#ifndef MASTER_API_TASKS_TASK_SUMMARIES_H_
#define MASTER_API_TASKS_TASK_SUMMARIES_H_

#include "det/api/v1/task.pb.h"
#include "master/api/rpc/call.h"

namespace det::api {

// Of the workspaces that the caller sees. `response` must live until `done` is called.
void ReadTaskSummaries(const Edge& edge, const auth::Principal& caller,
                       v1::GetTasksResponse* response, Done done);

}  // namespace det::api

#endif  // MASTER_API_TASKS_TASK_SUMMARIES_H_
