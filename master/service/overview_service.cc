#include <memory>
#include <utility>

#include "det/api/v1/overview.grpc.pb.h"
#include "master/service/open_stream.h"
#include "master/service/overview_board.h"
#include "master/service/services.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

class OverviewService final : public api::OverviewService::CallbackService {
 public:
  explicit OverviewService(const Edge& edge)
      : edge_(edge), board_(std::make_shared<OverviewBoard>(edge)) {}

  grpc::ServerWriteReactor<api::WatchOverviewResponse>* WatchOverview(
      grpc::CallbackServerContext* context, const api::WatchOverviewRequest* request) override {
    return OpenStream<api::WatchOverviewResponse>(
        edge_, context, request, "det.api.v1.OverviewService.WatchOverview",
        [board = board_](const auth::Principal& principal, auto stream) {
          board->Join(principal.Visible(), std::move(stream));
        });
  }

 private:
  const Edge& edge_;
  const std::shared_ptr<OverviewBoard> board_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeOverviewService(const Edge& edge) {
  return std::make_unique<OverviewService>(edge);
}

}  // namespace det::service
