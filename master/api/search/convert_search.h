// Converts searches to messages of the API, and requests to searcher operations.
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

// The facts about a trial of a search that the searcher does not know.
struct SearchedTrial {
  model::TrialId id;
  bool failed = false;
};

// Converts losses back to metrics. Leaves out the arrivals of trials that are not in `trials`.
std::vector<v1::Search::Bracket> ToProto(const std::vector<searcher::Bracket>& brackets,
                                         bool smaller_is_better,
                                         const std::map<model::RequestId, SearchedTrial>& trials);

// Returns INVALID_ARGUMENT with the index of an operation that is not set.
absl::StatusOr<searcher::OperationsPosted> FromProto(
    const v1::PostSearcherOperationsRequest& request);

// Returns the Pareto front: the validations that no other validation dominates, without duplicates.
// `validations` belong to trials of one experiment; `hparams` contains the hyperparameters of these
// trials.
std::vector<v1::Search::FrontPoint> ComputeFront(
    const model::ExperimentConfig& config, const std::vector<model::MetricReport>& validations,
    const std::map<model::TrialId, model::Hparams>& hparams);

// Simulates the search of `config` with recorded curves. Returns INVALID_ARGUMENT if they do not
// contain a searcher metric, RESOURCE_EXHAUSTED when `keep_going` returns false.
absl::StatusOr<v1::SimulateSearchResponse> SimulateWithCurves(const model::ExperimentConfig& config,
                                                              const std::string& curves,
                                                              const std::string& path,
                                                              std::function<bool()> keep_going);

}  // namespace det::api

#endif  // MASTER_API_SEARCH_CONVERT_SEARCH_H_
