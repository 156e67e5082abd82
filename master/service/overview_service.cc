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

  grpc::ServerWriteReactor<api::GetOverviewResponse>* GetOverview(
      grpc::CallbackServerContext* context, const api::GetOverviewRequest* request) override {
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

std::unique_ptr<grpc::Service> MakeOverviewService(const Edge& edge) {
  return std::make_unique<OverviewService>(edge);
}

}  // namespace det::service
