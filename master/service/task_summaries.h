// What holds slots or waits for them, as people may see it.
//
// Called by services on the pool; answers on the engine's loop.
#ifndef MASTER_SERVICE_TASK_SUMMARIES_H_
#define MASTER_SERVICE_TASK_SUMMARIES_H_

#include "det/api/v1/task.pb.h"
#include "master/service/call.h"

namespace det::service {

// Of the workspaces that the caller sees. `response` must live until `done` is called.
void ReadTaskSummaries(const Edge& edge, const auth::Principal& caller,
                       det::api::v1::GetTasksResponse* response, Done done);

}  // namespace det::service

#endif  // MASTER_SERVICE_TASK_SUMMARIES_H_
