// What a searcher hears and what it asks for. It never hears of slots, agents or processes.
//
// PURE.
#ifndef MASTER_CORE_SEARCHER_OPERATION_H_
#define MASTER_CORE_SEARCHER_OPERATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "master/core/model/ids.h"
#include "master/core/model/value.h"

namespace det::searcher {

// ---- asked for ----

struct CreateTrial {
  model::RequestId request;  // unique in the experiment; the same one again is the same trial
  uint32_t seed = 0;
  model::Hparams hparams;
  // The trial whose newest checkpoint it starts from; where that has none, from nothing. A parent
  // that was told to pause saves first, and the child waits for it.
  std::optional<model::RequestId> parent = std::nullopt;
  friend bool operator==(const CreateTrial&, const CreateTrial&) = default;
};

// The trial has been seen enough of: let it save and end as completed.
struct StopTrial {
  model::RequestId request;
  friend bool operator==(const StopTrial&, const StopTrial&) = default;
};

// Let it save and give its slots back, until ResumeTrial or StopTrial. What it reports until it has
// done so is heard when it goes on. It saves even where ResumeTrial follows at once.
struct PauseTrial {
  model::RequestId request;
  friend bool operator==(const PauseTrial&, const PauseTrial&) = default;
};
struct ResumeTrial {
  model::RequestId request;
  friend bool operator==(const ResumeTrial&, const ResumeTrial&) = default;
};

// Nothing more will be asked for. `failed`: no trial completed and at least one failed; `canceled`:
// every trial was canceled.
struct Shutdown {
  bool failed = false;
  bool canceled = false;
  friend bool operator==(const Shutdown&, const Shutdown&) = default;
};

using Operation = std::variant<CreateTrial, StopTrial, PauseTrial, ResumeTrial, Shutdown>;

// ---- heard ----

struct TrialCreated {
  model::RequestId request;
  friend bool operator==(const TrialCreated&, const TrialCreated&) = default;
};

// A validation. `metrics` are those of the objectives, in their order; NaN and infinities may come.
struct ValidationReported {
  model::RequestId request;
  int64_t steps_completed = 0;
  double length = 0;  // trained so far, in the unit of model::MaxLength
  std::vector<double> metrics;
  friend bool operator==(const ValidationReported&, const ValidationReported&) = default;
};

enum class TrialEnd { kCompleted, kFailed, kInvalidHp, kCanceled };

struct TrialExited {
  model::RequestId request;
  TrialEnd end = TrialEnd::kCompleted;
  friend bool operator==(const TrialExited&, const TrialExited&) = default;
};

// The user's own program drives the search (method `custom` alone hears it): what it asks for, and
// up to which event it has read. The same id again changes nothing.
struct OperationsPosted {
  std::string id;
  int64_t events_read = 0;
  std::vector<Operation> operations;
  friend bool operator==(const OperationsPosted&, const OperationsPosted&) = default;
};

using Event = std::variant<TrialCreated, ValidationReported, TrialExited, OperationsPosted>;

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_OPERATION_H_
