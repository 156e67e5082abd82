#include "master/api/runtime/all_gather.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace det::api {
namespace {

constexpr size_t kMaxCompleted = 16;

absl::Status Validate(const std::string& key, int rank, int num_peers) {
  if (num_peers < 1 || rank < 0 || rank >= num_peers) {
    return absl::InvalidArgumentError(absl::StrCat("all-gather \"", key, "\": invalid rank ", rank,
                                                   " with num_peers ", num_peers,
                                                   "; expected 0 <= rank < num_peers"));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t AllGather::Join(const model::AllocationId& allocation, const std::string& key, int rank,
                        int num_peers, std::string data, Reply reply) {
  // The replies to send after the lock is released, all with `result`.
  absl::StatusOr<std::vector<std::string>> result = std::vector<std::string>();
  std::vector<Reply> replies;
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
    for (const auto& [name, gathered] : session.complete) {
      if (name == key && gathered.size() == static_cast<size_t>(num_peers)) {
        result = gathered;
        replies.push_back(std::move(reply));
      }
    }
    if (replies.empty()) {
      Group& group = session.open[key];
      if (group.members.empty()) group.num_peers = num_peers;
      if (group.num_peers != num_peers) {
        result = absl::InvalidArgumentError(
            absl::StrCat("all-gather \"", key, "\": num_peers of rank ", rank, " is ", num_peers,
                         ", of other ranks ", group.num_peers));
        replies.push_back(std::move(reply));
      } else {
        Member& member = group.members[rank];
        replaced = std::move(member.reply);
        member = {ticket, std::move(data), std::move(reply)};
        if (group.members.size() == static_cast<size_t>(num_peers)) {
          std::vector<std::string> gathered;
          for (auto& [unused, other] : group.members) {
            gathered.push_back(std::move(other.data));
            replies.push_back(std::move(other.reply));
          }
          session.open.erase(key);
          session.complete.emplace_back(key, gathered);
          if (session.complete.size() > kMaxCompleted) session.complete.pop_front();
          result = std::move(gathered);
        }
      }
    }
  }
  if (replaced) {
    replaced(absl::AbortedError(absl::StrCat("replaced by a later call of rank ", rank)));
  }
  for (Reply& send : replies) send(result);
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
  if (reply) reply(absl::CancelledError("the client has disconnected"));
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

void JoinAllGather(AllGather& all_gather, Call& call,
                   const det::trial::v1::AllGatherRequest& request,
                   det::trial::v1::AllGatherResponse* response, Done done) {
  // The client may disconnect before Join() has returned the ticket.
  struct Membership {
    std::mutex mutex;
    std::optional<int64_t> ticket;
    bool canceled = false;
  };
  const auto membership = std::make_shared<Membership>();
  const model::AllocationId allocation(request.allocation_id());
  call.OnCancel([&all_gather, allocation, membership] {
    std::unique_lock lock(membership->mutex);
    membership->canceled = true;
    const std::optional<int64_t> ticket = membership->ticket;
    lock.unlock();
    if (ticket) all_gather.Abandon(allocation, *ticket);
  });
  // The call may finish before Join() returns: `call`, `request` and `response` must not be used
  // afterwards.
  auto shared_done = std::make_shared<Done>(std::move(done));
  const int64_t ticket = all_gather.Join(
      allocation, request.key(), request.rank(), request.num_peers(), request.data(),
      [response, shared_done](const absl::StatusOr<std::vector<std::string>>& gathered) {
        if (gathered.ok()) {
          for (const std::string& data : *gathered) response->add_data(data);
        }
        (*shared_done)(gathered.status());
      });
  std::unique_lock lock(membership->mutex);
  membership->ticket = ticket;
  const bool canceled = membership->canceled;
  lock.unlock();
  if (canceled) all_gather.Abandon(allocation, ticket);
}

}  // namespace det::api
