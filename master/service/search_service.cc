#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/search.grpc.pb.h"
#include "master/model/parse/parse.h"
#include "master/searcher/searcher.h"
#include "master/service/call.h"
#include "master/service/convert.h"
#include "master/service/convert_search.h"
#include "master/service/experiment_config.h"
#include "master/service/services.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

absl::Status Preview(const Edge& edge, const api::PreviewHPSearchRequest& request,
                     api::SearchSummary* out) {
  GivenConfig given{.yaml = request.yaml(), .path = request.config_path()};
  given.template_name = request.template_();
  given.seed = request.seed();
  if (given.yaml.empty()) {
    given.yaml = FromStruct(request.config(), Numbers::kIntegersIfWhole).ToJson();
  }
  DET_ASSIGN_OR_RETURN(const model::ExperimentConfig config, ReadConfig(edge, given));
  DET_ASSIGN_OR_RETURN(const searcher::Searcher searcher, searcher::Searcher::Make(config));
  *out = ToSummary(config, searcher.Preview());
  return absl::OkStatus();
}

absl::Status Simulate(const Edge& edge, const api::SimulateSearchRequest& request,
                      api::SimulateSearchResponse* out) {
  GivenConfig given{.yaml = request.yaml(), .path = request.config_path()};
  given.template_name = request.template_();
  given.seed = request.seed();
  DET_ASSIGN_OR_RETURN(const model::ExperimentConfig config, ReadConfig(edge, given));
  DET_ASSIGN_OR_RETURN(*out, SimulateAgainst(config, request.curves(), request.curves_path()));
  return absl::OkStatus();
}

class SearchService final : public api::SearchService::CallbackService {
 public:
  explicit SearchService(const Edge& edge) : edge_(edge) {}

  grpc::ServerUnaryReactor* PreviewHPSearch(grpc::CallbackServerContext* context,
                                            const api::PreviewHPSearchRequest* request,
                                            api::PreviewHPSearchResponse* response) override {
    return UnaryNow(edge_, context, "det.api.v1.SearchService.PreviewHPSearch",
                    [this, request, response](const auth::Principal&) {
                      return Preview(edge_, *request, response->mutable_summary());
                    });
  }

  grpc::ServerUnaryReactor* SimulateSearch(grpc::CallbackServerContext* context,
                                           const api::SimulateSearchRequest* request,
                                           api::SimulateSearchResponse* response) override {
    return UnaryNow(edge_, context, "det.api.v1.SearchService.SimulateSearch",
                    [this, request, response](const auth::Principal&) {
                      return Simulate(edge_, *request, response);
                    });
  }

 private:
  const Edge& edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSearchService(const Edge& edge) {
  return std::make_unique<SearchService>(edge);
}

}  // namespace det::service
