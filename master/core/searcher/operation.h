// The operations that a searcher returns and the events that it handles. It knows no slots, agents
// or processes.
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

// ---- operations ----

struct CreateTrial {
  model::RequestId request;  // unique in the experiment; idempotent
  uint32_t seed = 0;
  model::Hparams hparams;
  // The trial whose newest checkpoint it starts from, if that has one. The child waits until a
  // parent that is being paused has saved a checkpoint.
  std::optional<model::RequestId> parent = std::nullopt;
  friend bool operator==(const CreateTrial&, const CreateTrial&) = default;
};

// Stops the trial early: it saves a checkpoint and ends as completed.
struct StopTrial {
  model::RequestId request;
  friend bool operator==(const StopTrial&, const StopTrial&) = default;
};

// Pauses the trial until ResumeTrial or StopTrial: it saves a checkpoint and releases its slots.
// Its reports until then are handled when it resumes. It saves even if ResumeTrial follows
// immediately.
struct PauseTrial {
  model::RequestId request;
  friend bool operator==(const PauseTrial&, const PauseTrial&) = default;
};
struct ResumeTrial {
  model::RequestId request;
  friend bool operator==(const ResumeTrial&, const ResumeTrial&) = default;
};

// Ends the search. `failed`: no trial completed and at least one failed; `canceled`: every trial
// was canceled.
struct Shutdown {
  bool failed = false;
  bool canceled = false;
  friend bool operator==(const Shutdown&, const Shutdown&) = default;
};

using Operation = std::variant<CreateTrial, StopTrial, PauseTrial, ResumeTrial, Shutdown>;

// ---- events ----

struct TrialCreated {
  model::RequestId request;
  friend bool operator==(const TrialCreated&, const TrialCreated&) = default;
};

// A validation. `metrics` are the values of the objectives, in order; may be NaN or infinite.
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

// A user's program drives the search (method `custom` only): its operations, and the last event
// that it has read. Idempotent by id.
struct OperationsPosted {
  std::string id;
  int64_t events_read = 0;
  std::vector<Operation> operations;
  friend bool operator==(const OperationsPosted&, const OperationsPosted&) = default;
};

using Event = std::variant<TrialCreated, ValidationReported, TrialExited, OperationsPosted>;

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_OPERATION_H_
