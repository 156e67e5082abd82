#include <memory>
#include <utility>

#include "det/api/v1/overview.pb.h"
#include "master/service/open_stream.h"
#include "master/service/overview_board.h"
#include "master/service/service.h"
#include "master/service/services.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

class OverviewService final : public Service {
 public:
  explicit OverviewService(const Edge& edge)
      : Service("det.api.v1.OverviewService"),
        edge_(edge),
        board_(std::make_shared<OverviewBoard>(edge)) {
    Serve("GetOverview", &OverviewService::GetOverview);
  }

  MessageStream* GetOverview(grpc::CallbackServerContext* context,
                             const api::GetOverviewRequest* request) {
    return OpenStream<api::GetOverviewResponse>(
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

}  // namespace det::service
