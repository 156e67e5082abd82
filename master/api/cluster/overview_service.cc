#include <memory>
#include <utility>

#include "det/api/v1/overview.unary.h"
#include "master/api/cluster/overview_board.h"
#include "master/api/cluster/services.h"
#include "master/api/rpc/api_service.h"

namespace det::api {
namespace {

class OverviewService final : public ApiService<v1::OverviewService> {
 public:
  OverviewService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                  base::ThreadPool& pool, base::EventLoop& loop, const base::Clock& clock)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        pool_(pool),
        loop_(loop),
        clock_(clock),
        board_(std::make_shared<OverviewBoard>(engine_, store_, pool_, loop_, clock_)) {}

  grpc::ServerWriteReactor<v1::GetOverviewResponse>* GetOverview(
      grpc::CallbackServerContext* context, const v1::GetOverviewRequest* request) override {
    return ServerStream<v1::GetOverviewResponse>(
        __func__, context, request,
        [board = board_, follow = request->follow()](const auth::Principal& principal,
                                                     auto stream) {
          board->Join(principal.Visible(model::Permission::kViewExperimentMetadata), follow,
                      std::move(stream));
        });
  }

 private:
  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
  base::EventLoop& loop_;
  const base::Clock& clock_;
  const std::shared_ptr<OverviewBoard> board_;
};

}  // namespace

std::unique_ptr<Service> MakeOverviewService(CallPipeline& calls, engine::Engine& engine,
                                             store::Store& store, base::ThreadPool& pool,
                                             base::EventLoop& loop, const base::Clock& clock) {
  return std::make_unique<OverviewService>(calls, engine, store, pool, loop, clock);
}

}  // namespace det::api
