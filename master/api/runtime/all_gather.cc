#include "master/api/runtime/all_gather.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace det::api {
namespace {

constexpr size_t kKeptComplete = 16;

absl::Status Validate(const std::string& key, int rank, int num_peers) {
  if (num_peers < 1 || rank < 0 || rank >= num_peers) {
    return absl::InvalidArgumentError(absl::StrCat("all-gather \"", key, "\": rank ", rank,
                                                   " is not one of ", num_peers, " peers"));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t AllGather::Join(const model::AllocationId& allocation, const std::string& key, int rank,
                        int num_peers, std::string data, Reply reply) {
  // What to answer once the lock is released.
  absl::StatusOr<std::vector<std::string>> result = std::vector<std::string>();
  std::vector<Reply> answered;
  Reply replaced;
  int64_t ticket = 0;
  if (const absl::Status valid = Validate(key, rank, num_peers); !valid.ok()) {
    reply(valid);
    return ticket;
  }
  {
    std::lock_guard lock(mutex_);
    ticket = ++last_ticket_;
    Session& session = sessions_[allocation];
    for (const auto& [name, everything] : session.complete) {
      if (name == key && everything.size() == static_cast<size_t>(num_peers)) {
        result = everything;
        answered.push_back(std::move(reply));
      }
    }
    if (answered.empty()) {
      Group& group = session.open[key];
      if (group.members.empty()) group.num_peers = num_peers;
      if (group.num_peers != num_peers) {
        result = absl::InvalidArgumentError(absl::StrCat("all-gather \"", key, "\": rank ", rank,
                                                         " expects ", num_peers,
                                                         " peers, the others ", group.num_peers));
        answered.push_back(std::move(reply));
      } else {
        Member& member = group.members[rank];
        replaced = std::move(member.reply);
        member = {ticket, std::move(data), std::move(reply)};
        if (group.members.size() == static_cast<size_t>(num_peers)) {
          std::vector<std::string> everything;
          for (auto& [unused, other] : group.members) {
            everything.push_back(std::move(other.data));
            answered.push_back(std::move(other.reply));
          }
          session.open.erase(key);
          session.complete.emplace_back(key, everything);
          if (session.complete.size() > kKeptComplete) session.complete.pop_front();
          result = std::move(everything);
        }
      }
    }
  }
  if (replaced) replaced(absl::AbortedError(absl::StrCat("rank ", rank, " has called again")));
  for (Reply& one : answered) one(result);
  return ticket;
}

void AllGather::Abandon(const model::AllocationId& allocation, int64_t ticket) {
  Reply reply;
  {
    std::lock_guard lock(mutex_);
    const auto session = sessions_.find(allocation);
    if (session == sessions_.end()) return;
    for (auto group = session->second.open.begin(); group != session->second.open.end(); ++group) {
      for (auto member = group->second.members.begin(); member != group->second.members.end();
           ++member) {
        if (member->second.ticket != ticket) continue;
        reply = std::move(member->second.reply);
        group->second.members.erase(member);
        if (group->second.members.empty()) session->second.open.erase(group);
        break;
      }
      if (reply) break;
    }
  }
  if (reply) reply(absl::CancelledError("the caller has gone"));
}

void AllGather::Close(const model::AllocationId& allocation) {
  std::optional<Session> session;
  {
    std::lock_guard lock(mutex_);
    const auto it = sessions_.find(allocation);
    if (it == sessions_.end()) return;
    session = std::move(it->second);
    sessions_.erase(it);
  }
  for (auto& [unused, group] : session->open) {
    for (auto& [rank, member] : group.members) {
      member.reply(
          absl::AbortedError(absl::StrCat("allocation ", allocation.value(), " has ended")));
    }
  }
}

}  // namespace det::api
