#include <memory>

#include "det/api/v1/unserved.pb.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/api/rpc/unsupported.h"
#include "master/api/tasks/services.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;
using v1::UnservedPairRequest;
using v1::UnservedRequest;
using v1::UnservedResponse;

class UnservedService final : public Service {
 public:
  explicit UnservedService(const Edge& edge) : Service("det.api.v1.UnservedService"), edge_(edge) {
    Serve("Groups", &UnservedService::Groups);
    Serve("Kubernetes", &UnservedService::Kubernetes);
    Serve("GenericTasks", &UnservedService::GenericTasks);
    Serve("DetachedMode", &UnservedService::DetachedMode);
    Serve("Profiler", &UnservedService::Profiler);
    Serve("TaskSignals", &UnservedService::TaskSignals);
    Serve("Cleanup", &UnservedService::Cleanup);
  }

  Reactor* Groups(Context* context, const UnservedRequest* request, UnservedResponse*) {
    return Decline(edge_, context, request, "det.api.v1.UnservedService.Groups",
                   "keeps no groups of users; give each user the role (det rbac assign-role)");
  }
  Reactor* Kubernetes(Context* context, const UnservedRequest* request, UnservedResponse*) {
    return Decline(
        edge_, context, request, "det.api.v1.UnservedService.Kubernetes",
        "runs on agents, not on Kubernetes; limit a workspace by its quota (det workspace edit)");
  }
  Reactor* GenericTasks(Context* context, const UnservedRequest* request, UnservedResponse*) {
    return Decline(edge_, context, request, "det.api.v1.UnservedService.GenericTasks",
                   "has no tasks but those of trials; create an experiment whose entrypoint is the "
                   "command line");
  }
  Reactor* DetachedMode(Context* context, const UnservedPairRequest* request, UnservedResponse*) {
    return Decline(edge_, context, request, "det.api.v1.UnservedService.DetachedMode",
                   "keeps no experiments that run elsewhere; create one that runs here");
  }
  Reactor* Profiler(Context* context, const UnservedRequest* request, UnservedResponse*) {
    return Decline(edge_, context, request, "det.api.v1.UnservedService.Profiler",
                   "keeps what a machine does among the trial's metrics: report it there, in a "
                   "group of its own");
  }
  Reactor* TaskSignals(Context* context, const UnservedPairRequest* request, UnservedResponse*) {
    return Decline(edge_, context, request, "det.api.v1.UnservedService.TaskSignals",
                   "asks this of no task: a trial's processes need not call it");
  }
  Reactor* Cleanup(Context* context, const UnservedRequest* request, UnservedResponse*) {
    return Decline(edge_, context, request, "det.api.v1.UnservedService.Cleanup",
                   "removes old logs and files by itself; see log retention (det experiment set "
                   "log-retention) and det experiment delete");
  }

 private:
  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeUnservedService(const Edge& edge) {
  return std::make_unique<UnservedService>(edge);
}

}  // namespace det::api
