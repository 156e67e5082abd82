#include <memory>
#include <utility>

#include "det/api/v1/overview.pb.h"
#include "master/api/cluster/overview_board.h"
#include "master/api/cluster/services.h"
#include "master/api/rpc/open_stream.h"
#include "master/api/rpc/service.h"

namespace det::api {
namespace {

class OverviewService final : public Service {
 public:
  explicit OverviewService(const Edge& edge)
      : Service("det.api.v1.OverviewService"),
        edge_(edge),
        board_(std::make_shared<OverviewBoard>(edge)) {
    Serve("GetOverview", &OverviewService::GetOverview);
  }

  MessageStream* GetOverview(grpc::CallbackServerContext* context,
                             const v1::GetOverviewRequest* request) {
    return OpenStream<v1::GetOverviewResponse>(
        edge_, context, request, "det.api.v1.OverviewService.GetOverview",
        [board = board_, follow = request->follow()](const auth::Principal& principal,
                                                     auto stream) {
          board->Join(principal.Visible(), follow, std::move(stream));
        });
  }

 private:
  const Edge& edge_;
  const std::shared_ptr<OverviewBoard> board_;
};

}  // namespace

std::unique_ptr<Service> MakeOverviewService(const Edge& edge) {
  return std::make_unique<OverviewService>(edge);
}

}  // namespace det::api
