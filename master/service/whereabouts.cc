#include "master/service/whereabouts.h"

#include <optional>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "master/model/id_text.h"

namespace det::service {
namespace {

using auth::Where;

// Of all that there is, until projects lie in workspaces of their own.
constexpr int32_t kUncategorized = 1;

class StoreWhereabouts final : public Whereabouts {
 public:
  explicit StoreWhereabouts(store::Store* store) : store_(*store) {}

  absl::StatusOr<int32_t> WorkspaceOf(Where where, const std::string& id) override {
    const std::optional<int> number = NumberIn(where, id);
    switch (where) {
      case Where::kCheckpoint: {
        DET_RETURN_IF_ERROR(store_.GetCheckpoint(model::CheckpointId(id)).status());
        return kUncategorized;
      }
      case Where::kTrial: {
        if (!number) return auth::DoesNotExist(where, id);
        DET_RETURN_IF_ERROR(store_.GetTrial(model::TrialId(*number)).status());
        return kUncategorized;
      }
      case Where::kExperiment:
      case Where::kJob:
      case Where::kTask:
      case Where::kAllocation: {
        if (!number) return auth::DoesNotExist(where, id);
        DET_RETURN_IF_ERROR(store_.GetExperiment(model::ExperimentId(*number)).status());
        return kUncategorized;
      }
      case Where::kWorkspace:
        if (!number) return auth::DoesNotExist(where, id);
        return *number;
      case Where::kProject:
        if (number == kUncategorized) return kUncategorized;
        break;
      default:
        break;
    }
    return auth::DoesNotExist(where, id);
  }

 private:
  // Tasks and allocations are named after their experiment: "7.12", "7.12.0"; jobs too: "exp-7".
  static std::optional<int> NumberIn(Where where, const std::string& id) {
    if (where == Where::kJob) {
      const auto experiment = model::ExperimentOf(model::JobId(id));
      if (experiment) return experiment->value();
    }
    const bool named = where == Where::kTask || where == Where::kAllocation;
    int number = 0;
    if (!absl::SimpleAtoi(named ? id.substr(0, id.find('.')) : id, &number)) return std::nullopt;
    return number;
  }

  store::Store& store_;
};

}  // namespace

std::unique_ptr<Whereabouts> MakeWhereabouts(store::Store* store) {
  return std::make_unique<StoreWhereabouts>(store);
}

}  // namespace det::service
