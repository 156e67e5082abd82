#include "trial_api/cpp/torch/reducers.h"

#include <sstream>
#include <utility>

#include "trial_api/cpp/core/error.h"
#include <torch/serialize.h>

namespace det::trial {
namespace {

// The parts of each reducer.
using Parts = std::vector<std::vector<torch::Tensor>>;

// Converts to one list, which starts with the number of parts of each reducer.
std::string ToText(const Parts& parts) {
  std::vector<int64_t> counts;
  std::vector<torch::Tensor> all = {torch::Tensor()};
  for (const std::vector<torch::Tensor>& of_one : parts) {
    counts.push_back(static_cast<int64_t>(of_one.size()));
    for (const torch::Tensor& part : of_one) all.push_back(part.detach().to(torch::kCPU));
  }
  all.front() = torch::tensor(counts, torch::kInt64);
  std::ostringstream text;
  torch::save(all, text);
  return text.str();
}

Parts FromText(const std::string& text, size_t reducers) {
  std::vector<torch::Tensor> all;
  try {
    std::istringstream stream(text);
    torch::load(all, stream);
  } catch (const c10::Error& error) {
    throw Error("damaged parts of metric reducers: " + std::string(error.what_without_backtrace()));
  }
  if (all.empty() || all.front().numel() != static_cast<int64_t>(reducers)) {
    throw Error("the checkpoint has parts of other metric reducers than the " +
                std::to_string(reducers) + " of this trial");
  }
  Parts parts;
  auto next = all.begin() + 1;
  for (size_t i = 0; i < reducers; ++i) {
    const auto count = all.front()[static_cast<int64_t>(i)].item<int64_t>();
    if (count > all.end() - next) throw Error("damaged parts of metric reducers: some are missing");
    parts.emplace_back(next, next + count);
    next += count;
  }
  return parts;
}

}  // namespace

void Reducers::Add(std::shared_ptr<MetricReducer> reducer, ReducerUse use) {
  reducer->reset();
  entries_.push_back({std::move(reducer), use, {}});
}

void Reducers::ReduceTraining(Communicator& communicator, MetricMap& metrics) {
  Reduce(&ReducerUse::training, communicator, metrics);
}

void Reducers::StartValidation() {
  for (const Entry& entry : entries_) {
    if (entry.use.validation) entry.reducer->reset();
  }
}

void Reducers::ReduceValidation(Communicator& communicator, MetricMap& metrics) {
  Reduce(&ReducerUse::validation, communicator, metrics);
}

void Reducers::Reduce(bool ReducerUse::* used, Communicator& communicator, MetricMap& metrics) {
  if (entries_.empty()) return;
  Parts mine;
  for (Entry& entry : entries_) {
    mine.emplace_back();
    if (!(entry.use.*used)) continue;
    if (used == &ReducerUse::training) mine.back() = std::exchange(entry.carried, {});
    mine.back().push_back(entry.reducer->per_rank());
    entry.reducer->reset();
  }
  Parts all(entries_.size());
  for (const std::string& text : communicator.AllGather(ToText(mine))) {
    const Parts parts = FromText(text, entries_.size());
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].insert(all[i].end(), parts[i].begin(), parts[i].end());
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (!(entries_[i].use.*used)) continue;
    for (const auto& [name, value] : entries_[i].reducer->across_ranks(all[i])) {
      if (!metrics.emplace(name, value).second) {
        throw Error("metric \"" + name + "\" of a reducer has the same name as another metric");
      }
    }
  }
}

std::string Reducers::TrainingText() const {
  Parts parts;
  for (const Entry& entry : entries_) {
    parts.emplace_back();
    if (!entry.use.training) continue;
    parts.back() = entry.carried;
    parts.back().push_back(entry.reducer->per_rank());
  }
  return ToText(parts);
}

void Reducers::AddTrainingText(const std::string& text) {
  const Parts parts = FromText(text, entries_.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<torch::Tensor>& carried = entries_[i].carried;
    carried.insert(carried.end(), parts[i].begin(), parts[i].end());
  }
}

}  // namespace det::trial
