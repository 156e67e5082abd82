#include "master/core/searcher/simulate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/searcher/searcher.h"

namespace det::searcher {
namespace {

// Limits the length of a trial so that the units of all trials fit into 64 bits.
constexpr int64_t kMaxUnits = 1'000'000'000;

using model::RequestId;

class World {
 public:
  World(const model::ExperimentConfig& config, Searcher searcher, const LearningCurve& curve,
        const SimulationOptions& options)
      : objective_(model::Objectives(config.searcher).front()),
        max_length_(model::MaxLength(config.searcher)),
        searcher_(std::move(searcher)),
        curve_(curve),
        options_(options) {}

  absl::StatusOr<Simulation> Run() {
    Take(searcher_.Start());
    Settle();
    while (!segments_.empty()) {
      const Segment segment = segments_.top();
      segments_.pop();
      if (trials_[segment.trial].segment != segment.number)
        continue;  // the segment was interrupted
      Pass(segment.time);
      Arrive(segment.trial);
      Settle();
      if (gave_up_) break;
    }
    if (gave_up_) {
      return absl::ResourceExhaustedError(absl::StrCat("the simulation takes too long (",
                                                       result_.trials.size(),
                                                       " trials so far); make the search smaller"));
    }
    if (!searcher_.shut_down()) {
      return absl::FailedPreconditionError(
          "the search waits for operations, which a simulation does not have");
    }
    return std::move(result_);
  }

 private:
  enum class State { kQueued, kRunning, kPaused, kEnded };
  struct Trial {
    State state = State::kQueued;
    int64_t inherited = 0;  // trained by the trials whose checkpoint it started from
    int64_t length = 0;     // trained by itself at its last report or interruption
    int64_t since = 0;      // time since when it trains from `length` on
    int64_t segment = 0;    // the number of its latest one
  };
  // A trial trains until this time without a report.
  struct Segment {
    int64_t time = 0;
    size_t trial = 0;
    int64_t number = 0;
    bool operator>(const Segment& other) const {
      return std::tie(time, trial) > std::tie(other.time, other.trial);
    }
  };

  const RequestId& GetId(size_t trial) const { return result_.trials[trial].request; }
  int64_t GetLimit(const Trial& trial) const { return max_length_ - trial.inherited; }

  void Pass(int64_t time) {
    result_.units += busy_ * (time - result_.time);
    result_.time = time;
  }

  // Handles the events of this time, then starts waiting trials, until nothing changes.
  void Settle() {
    while (true) {
      gave_up_ = gave_up_ || (options_.keep_going && !options_.keep_going());
      if (gave_up_) return;
      if (!events_.empty()) {
        const Event event = std::move(events_.front());
        events_.pop_front();
        Take(searcher_.Handle(event));
      } else if (!queue_.empty() && (options_.slots == 0 || busy_ < options_.slots)) {
        const size_t trial = queue_.front();
        queue_.pop_front();
        if (trials_[trial].state == State::kQueued) Start(trial);
      } else {
        return;
      }
    }
  }

  void Start(size_t index) {
    Trial& trial = trials_[index];
    trial.state = State::kRunning;
    ++busy_;
    Train(index);
  }

  void Train(size_t index) {
    Trial& trial = trials_[index];
    int64_t target = GetLimit(trial);
    if (trial.length >= target) return Leave(index, State::kEnded);
    for (const int64_t length : searcher_.ReportLengths(GetId(index))) {
      if (length > trial.length) target = std::min(target, length);
    }
    if (const int64_t every = options_.report_every; every > 0) {
      target = std::min(target, (trial.length / every + 1) * every);
    }
    trial.since = result_.time;
    segments_.push(
        {.time = result_.time + target - trial.length, .trial = index, .number = ++trial.segment});
  }

  // Handles the end of the trial's segment.
  void Arrive(size_t index) {
    Trial& trial = trials_[index];
    trial.length += result_.time - trial.since;
    trial.since = result_.time;
    SimulatedTrial& shown = result_.trials[index];
    shown.length = trial.length;
    const std::vector<double> metrics = curve_(shown.hparams, trial.inherited + trial.length);
    if (!metrics.empty()) {
      shown.metrics = metrics;
      RecordBest(metrics.front(), shown.request);
      Take(searcher_.Handle(ValidationReported{.request = GetId(index),
                                               .steps_completed = trial.length,
                                               .length = static_cast<double>(trial.length),
                                               .metrics = metrics}));
    }
    // Take may have paused or stopped it.
    if (trials_[index].state == State::kRunning) Train(index);
  }

  // Releases its slot, if it has one, and enters the state.
  void Leave(size_t index, State state) {
    Trial& trial = trials_[index];
    if (trial.state == State::kEnded) return;
    if (trial.state == State::kRunning) {
      trial.length += result_.time - std::exchange(trial.since, result_.time);
      result_.trials[index].length = trial.length;
      ++trial.segment;
      --busy_;
    }
    trial.state = state;
    if (state == State::kEnded) events_.push_back(TrialExited{GetId(index), TrialEnd::kCompleted});
  }

  void Take(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      if (const auto* create = std::get_if<CreateTrial>(&operation)) {
        Create(*create);
      } else if (const auto* stop = std::get_if<StopTrial>(&operation)) {
        Leave(numbers_.at(stop->request), State::kEnded);
      } else if (const auto* pause = std::get_if<PauseTrial>(&operation)) {
        Leave(numbers_.at(pause->request), State::kPaused);
      } else if (const auto* resume = std::get_if<ResumeTrial>(&operation)) {
        const size_t index = numbers_.at(resume->request);
        trials_[index].state = State::kQueued;
        queue_.push_back(index);
      }
    }
  }

  void Create(const CreateTrial& create) {
    const size_t index = trials_.size();
    Trial& trial = trials_.emplace_back();
    if (create.parent) {
      const Trial& parent = trials_[numbers_.at(*create.parent)];
      trial.inherited = parent.inherited + parent.length;
    }
    numbers_.emplace(create.request, index);
    result_.trials.push_back({.request = create.request, .hparams = create.hparams});
    queue_.push_back(index);
    events_.push_back(TrialCreated{create.request});
  }

  void RecordBest(double metric, const RequestId& request) {
    if (!std::isfinite(metric)) return;
    const auto better = [this](double a, double b) {
      return objective_.smaller_is_better ? a < b : a > b;
    };
    if (!result_.best.empty() && !better(metric, result_.best.back().metric)) return;
    result_.best.push_back({.units = result_.units, .metric = metric, .request = request});
  }

  const model::Objective objective_;
  const int64_t max_length_;
  Searcher searcher_;
  const LearningCurve& curve_;
  const SimulationOptions options_;
  std::vector<Trial> trials_;
  std::map<RequestId, size_t> numbers_;
  std::deque<size_t> queue_;  // trials that wait for a slot
  std::deque<Event> events_;  // not handled yet
  std::priority_queue<Segment, std::vector<Segment>, std::greater<>> segments_;
  int64_t busy_ = 0;  // slots in use
  bool gave_up_ = false;
  Simulation result_;
};

}  // namespace

absl::StatusOr<Simulation> Simulate(const model::ExperimentConfig& config,
                                    const LearningCurve& curve, const SimulationOptions& options) {
  if (model::MaxLength(config.searcher) < 1) {
    return absl::InvalidArgumentError(
        "searcher.max_length: a simulation requires it, or max_time, to know when a trial ends");
  }
  if (model::MaxLength(config.searcher) > kMaxUnits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "searcher.max_length: a simulation supports up to ", kMaxUnits, " units for each trial"));
  }
  DET_ASSIGN_OR_RETURN(Searcher searcher, Searcher::Make(config));
  return World(config, std::move(searcher), curve, options).Run();
}

}  // namespace det::searcher
