// Between searches and the messages of the API.
//
// Any thread. Does no I/O.
#ifndef MASTER_SERVICE_CONVERT_SEARCH_H_
#define MASTER_SERVICE_CONVERT_SEARCH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/search.pb.h"
#include "master/model/experiment_config.h"
#include "master/searcher/search_method.h"

namespace det::service {

det::api::v1::SearchSummary ToSummary(const model::ExperimentConfig& config,
                                      const searcher::Plan& plan);

// Losses become metrics again.
std::vector<det::api::v1::Search::Bracket> ToProto(const std::vector<searcher::Bracket>& brackets,
                                                   bool smaller_is_better);

// The search of `config` against recorded curves; INVALID_ARGUMENT where they lack its metric.
absl::StatusOr<det::api::v1::SimulateSearchResponse> SimulateAgainst(
    const model::ExperimentConfig& config, const std::string& curves, const std::string& path);

}  // namespace det::service

#endif  // MASTER_SERVICE_CONVERT_SEARCH_H_
