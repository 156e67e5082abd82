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

int64_t AllGather::JoinByName(const model::AllocationId& allocation, const std::string& name,
                              int num_peers, std::string data, Reply reply) {
  // An invalid call must not take a place from a process.
  if (const absl::Status valid = Validate(name, 0, num_peers); !valid.ok()) {
    reply(valid);
    return 0;
  }
  std::pair<int, int> place;
  {
    std::lock_guard lock(mutex_);
    Session& session = sessions_[allocation];
    const auto known = session.names.find(name);
    if (known != session.names.end()) {
      place = known->second;
    } else {
      if (session.num_named >= num_peers) {
        ++session.last_group;
        session.num_named = 0;
      }
      place = {session.last_group, session.num_named++};
      session.names[name] = place;
    }
  }
  const auto& [group, rank] = place;
  return Join(allocation, absl::StrCat("named ", group), rank, num_peers, std::move(data),
              std::move(reply));
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

void WaitForPeers(AllGather& all_gather, Call& call, const model::AllocationId& allocation,
                  absl::FunctionRef<int64_t(AllGather::Reply)> join, AllGather::Reply reply) {
  // The client may disconnect before `join` has returned the ticket.
  struct Membership {
    std::mutex mutex;
    std::optional<int64_t> ticket;
    bool canceled = false;
  };
  const auto membership = std::make_shared<Membership>();
  call.OnCancel([&all_gather, allocation, membership] {
    std::unique_lock lock(membership->mutex);
    membership->canceled = true;
    const std::optional<int64_t> ticket = membership->ticket;
    lock.unlock();
    if (ticket) all_gather.Abandon(allocation, *ticket);
  });
  // The call may finish before `join` returns: it must not be used afterwards.
  const int64_t ticket = join(std::move(reply));
  std::unique_lock lock(membership->mutex);
  membership->ticket = ticket;
  const bool canceled = membership->canceled;
  lock.unlock();
  if (canceled) all_gather.Abandon(allocation, ticket);
}

void JoinAllGather(AllGather& all_gather, Call& call,
                   const det::trial::v1::AllGatherRequest& request,
                   det::trial::v1::AllGatherResponse* response, Done done) {
  const model::AllocationId allocation(request.allocation_id());
  WaitForPeers(
      all_gather, call, allocation,
      [&](AllGather::Reply reply) {
        return all_gather.Join(allocation, request.key(), request.rank(), request.num_peers(),
                               request.data(), std::move(reply));
      },
      [response,
       done = std::move(done)](const absl::StatusOr<std::vector<std::string>>& gathered) mutable {
        if (gathered.ok()) {
          for (const std::string& data : *gathered) response->add_data(data);
        }
        done(gathered.status());
      });
}

}  // namespace det::api
