#include "master/api/updates/update_follower.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/status_macros.h"

namespace det::api {
namespace {

constexpr size_t kBatch = 256;  // records that are read at once

bool Includes(const UpdateFollower::Workspaces& visible, int32_t workspace) {
  return !visible || std::find(visible->begin(), visible->end(), workspace) != visible->end();
}

}  // namespace

absl::Status UpdateFollower::Subscribe(std::string_view message) {
  DET_ASSIGN_OR_RETURN(const UpdateRequest request, ParseUpdateRequest(message));
  subscriptions_.clear();
  pending_.clear();
  for (const UpdateRequest::Subscription& each : request.subscriptions) {
    subscriptions_.push_back({each.query, KnownRecords(each)});
  }
  starting_ = request.sync_id;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> UpdateFollower::Next(const Visible& visible) {
  if (starting_) {
    pending_.push_back({.message = MakeSyncMessage(*starting_, false)});
    DET_RETURN_IF_ERROR(FindChanges(visible, /*in_sync=*/true));
    pending_.push_back({.message = MakeSyncMessage(*starting_, true)});
    starting_.reset();
  } else if (pending_.empty() && !subscriptions_.empty()) {
    DET_RETURN_IF_ERROR(FindChanges(visible, /*in_sync=*/false));
  }
  std::vector<std::string> messages;
  while (!pending_.empty() && messages.size() < kBatch) {
    const Pending next = std::move(pending_.front());
    pending_.pop_front();
    if (next.ids.empty()) {
      messages.push_back(next.message);
      continue;
    }
    DET_ASSIGN_OR_RETURN(std::vector<std::string> read, Read(next, visible));
    std::move(read.begin(), read.end(), std::back_inserter(messages));
  }
  return messages;
}

absl::Status UpdateFollower::FindChanges(const Visible& visible, bool in_sync) {
  // Read before the records: a change in between is then found again, not missed.
  DET_ASSIGN_OR_RETURN(const int64_t last_change, records_.GetLastChange());
  if (!in_sync && last_change == last_change_ && visible == visible_) return absl::OkStatus();
  for (Subscription& each : subscriptions_) {
    each.query.visible =
        each.query.kind == store::StreamedKind::kProject ? visible.projects : visible.models;
    DET_ASSIGN_OR_RETURN(const auto matching, records_.ListSeqs(each.query));
    const KnownRecords::Changes changes = each.known.Update(matching);
    if (in_sync || !changes.gone.empty()) {
      pending_.push_back({.message = MakeDeletedMessage(each.query.kind, changes.gone)});
    }
    for (size_t i = 0; i < changes.changed.size(); i += kBatch) {
      const auto begin = changes.changed.begin() + static_cast<ptrdiff_t>(i);
      const auto end = begin + static_cast<ptrdiff_t>(std::min(kBatch, changes.changed.size() - i));
      pending_.push_back(
          {.message = "", .kind = each.query.kind, .ids = {begin, end}, .in_sync = in_sync});
    }
  }
  last_change_ = last_change;
  visible_ = visible;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> UpdateFollower::Read(const Pending& pending,
                                                              const Visible& visible) {
  std::vector<std::string> messages;
  // Records can have moved to another workspace since they were found.
  switch (pending.kind) {
    case store::StreamedKind::kProject: {
      DET_ASSIGN_OR_RETURN(const auto records, records_.ReadProjects(pending.ids));
      for (const store::StreamedProject& each : records) {
        if (Includes(visible.projects, each.project.workspace))
          messages.push_back(MakeRecordMessage(each));
      }
      break;
    }
    case store::StreamedKind::kModel: {
      DET_ASSIGN_OR_RETURN(const auto records, records_.ReadModels(pending.ids));
      for (const store::StreamedModel& each : records) {
        if (Includes(visible.models, each.model.workspace))
          messages.push_back(MakeRecordMessage(each));
      }
      break;
    }
    case store::StreamedKind::kVersion: {
      DET_ASSIGN_OR_RETURN(const auto records, records_.ReadVersions(pending.ids));
      for (const store::StreamedVersion& each : records) {
        if (Includes(visible.models, each.workspace)) {
          messages.push_back(MakeRecordMessage(each, pending.in_sync));
        }
      }
      break;
    }
  }
  return messages;
}

}  // namespace det::api
