// What a searcher hears and what it asks for. It never hears of slots, agents or processes.
//
// PURE.
#ifndef MASTER_SEARCHER_OPERATION_H_
#define MASTER_SEARCHER_OPERATION_H_

#include <cstdint>
#include <variant>

#include "master/model/ids.h"
#include "master/model/value.h"

namespace det::searcher {

// ---- heard ----

struct TrialCreated {
  model::RequestId request;
  friend bool operator==(const TrialCreated&, const TrialCreated&) = default;
};

// The searcher's metric of a validation. NaN and infinities may come.
struct ValidationReported {
  model::RequestId request;
  int64_t steps_completed = 0;
  double metric = 0;
  friend bool operator==(const ValidationReported&, const ValidationReported&) = default;
};

enum class TrialEnd { kCompleted, kFailed, kInvalidHp, kCanceled };

struct TrialExited {
  model::RequestId request;
  TrialEnd end = TrialEnd::kCompleted;
  friend bool operator==(const TrialExited&, const TrialExited&) = default;
};

using Event = std::variant<TrialCreated, ValidationReported, TrialExited>;

// ---- asked for ----

struct CreateTrial {
  model::RequestId request;  // unique in the experiment; the same one again is the same trial
  uint32_t seed = 0;
  model::Hparams hparams;
  friend bool operator==(const CreateTrial&, const CreateTrial&) = default;
};

// The trial has been seen enough of: let it save and end as completed.
struct StopTrial {
  model::RequestId request;
  friend bool operator==(const StopTrial&, const StopTrial&) = default;
};

// Nothing more will be asked for. `failed`: no trial completed and at least one failed; `canceled`:
// every trial was canceled.
struct Shutdown {
  bool failed = false;
  bool canceled = false;
  friend bool operator==(const Shutdown&, const Shutdown&) = default;
};

using Operation = std::variant<CreateTrial, StopTrial, Shutdown>;

}  // namespace det::searcher

#endif  // MASTER_SEARCHER_OPERATION_H_
