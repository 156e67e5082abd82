// Between searches and the messages of the API.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_SEARCH_CONVERT_SEARCH_H_
#define MASTER_API_SEARCH_CONVERT_SEARCH_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/search.pb.h"
#include "master/core/model/experiment_config.h"
#include "master/core/model/reports.h"
#include "master/core/searcher/search_method.h"

namespace det::api {

v1::SearchSummary ToSummary(const model::ExperimentConfig& config, const searcher::Plan& plan);

// What rungs say of a trial beyond what the searcher knows.
struct SearchedTrial {
  model::TrialId id;
  bool failed = false;
};

// Losses become metrics again. Who is not among `trials` is left out of the arrivals.
std::vector<v1::Search::Bracket> ToProto(const std::vector<searcher::Bracket>& brackets,
                                         bool smaller_is_better,
                                         const std::map<model::RequestId, SearchedTrial>& trials);

// INVALID_ARGUMENT, naming the operation by its index, for one that says nothing.
absl::StatusOr<searcher::OperationsPosted> FromProto(
    const v1::PostSearcherOperationsRequest& request);

// The validations that no other one beats in every objective, each once.
// `validations`: of trials of one experiment; `hparams`: of these trials.
std::vector<v1::Search::FrontPoint> FrontOf(
    const model::ExperimentConfig& config, const std::vector<model::MetricReport>& validations,
    const std::map<model::TrialId, model::Hparams>& hparams);

// The search of `config` against recorded curves; INVALID_ARGUMENT where they lack its metric,
// RESOURCE_EXHAUSTED once `go_on` says no.
absl::StatusOr<v1::SimulateSearchResponse> SimulateAgainst(const model::ExperimentConfig& config,
                                                           const std::string& curves,
                                                           const std::string& path,
                                                           std::function<bool()> go_on);

}  // namespace det::api

#endif  // MASTER_API_SEARCH_CONVERT_SEARCH_H_
