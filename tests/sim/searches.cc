#include "tests/sim/searches.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace det::sim {

void Searches::Begin(model::ExperimentId id) {
  const model::SearcherConfig& config = master_.committed().experiments.at(id).config->searcher;
  if (config.name != "custom") return;
  auto search = std::make_shared<Search>();
  search->id = id;
  search->budget = config.max_trials;
  Next(search);
}

void Searches::Next(const std::shared_ptr<Search>& search) {
  stage_.After(stage_.Ms(500, 20'000), [this, search] {
    if (model::IsTerminal(master_.committed().experiments.at(search->id).state)) return;
    cluster::PostSearcherOperations event{.id = search->id, .posted = {}};
    event.posted.id = absl::StrCat("post-", stage_.NextNumber());
    Choose(*search, event.posted);
    if (event.posted.operations.empty()) return Next(search);
    // A rejection is a response, too: the experiment may be ending.
    send_request_(event, [this, search](const absl::StatusOr<engine::Applied>& applied) {
      if (!applied.ok()) {
        stage_.Log(absl::StrCat("search ", search->id.value(), ": ", applied.status().message()));
        search->resumed = false;
      }
      Next(search);
    });
  });
}

void Searches::Choose(Search& search, searcher::OperationsPosted& post) {
  if (stage_.calm && search.resumed) {
    if (AllEnded(search)) post.operations.emplace_back(searcher::Shutdown{});
    return;
  }
  if (stage_.calm) {
    search.resumed = true;
    // Only trials that exist: a post that creates a trial may have been rejected.
    for (const auto& [id, trial] : master_.committed().trials) {
      if (trial.experiment != search.id) continue;
      post.operations.emplace_back(searcher::ResumeTrial{trial.request});
    }
    return;
  }
  for (int64_t i = stage_.Pick(1, 3); i > 0; --i) {
    const int64_t dice = search.created == 0 ? 0 : stage_.Pick(0, 9);
    if (dice <= 2 && search.created < search.budget) {
      searcher::CreateTrial create{.request = {}, .seed = 1, .hparams = {}};
      if (search.created > 0 && stage_.Chance(0.5)) create.parent = Any(search);
      create.request = model::RequestId(absl::StrCat(++search.created));
      post.operations.emplace_back(std::move(create));
    } else if (dice <= 5) {
      ++stage_.counts.holds;
      post.operations.emplace_back(searcher::PauseTrial{Any(search)});
    } else if (dice <= 8) {
      post.operations.emplace_back(searcher::ResumeTrial{Any(search)});
    } else {
      post.operations.emplace_back(searcher::StopTrial{Any(search)});
    }
  }
}

bool Searches::AllEnded(const Search& search) const {
  const auto& trials = master_.committed().trials;
  return std::all_of(trials.begin(), trials.end(), [&](const auto& row) {
    return row.second.experiment != search.id || model::IsTerminal(row.second.state);
  });
}

model::RequestId Searches::Any(const Search& search) {
  return model::RequestId(absl::StrCat(stage_.Pick(1, search.created)));
}

}  // namespace det::sim
