#include "master/gateway/idle_connections.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include <boost/system/error_code.hpp>

namespace det::gateway {
namespace {

// Whether the program has neither closed the connection nor sent anything that nobody requested.
bool IsQuiet(int fd) {
  char byte;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR);
}

}  // namespace

base::Fd IdleConnections::Take(const std::string& key) {
  std::lock_guard lock(mutex_);
  const auto found = connections_.find(key);
  base::Fd taken;
  while (found != connections_.end() && !found->second.empty() && !taken.valid()) {
    Connection newest = std::move(found->second.back());
    found->second.pop_back();
    if (IsQuiet(newest.fd.get())) taken = std::move(newest.fd);
  }
  return taken;
}

void IdleConnections::Put(const std::string& key, base::Fd connection) {
  std::lock_guard lock(mutex_);
  std::vector<Connection>& idle = connections_[key];
  if (idle.size() < kMaxPerKey) {
    idle.push_back({std::move(connection), std::chrono::steady_clock::now() + kMaxIdle});
  }
  StartTimer();
}

void IdleConnections::CloseExpired(Time now) {
  for (auto& [key, idle] : connections_) {
    std::erase_if(idle, [now](const Connection& each) { return each.until <= now; });
  }
  std::erase_if(connections_, [](const auto& each) { return each.second.empty(); });
}

void IdleConnections::StartTimer() {
  if (std::exchange(timer_runs_, true)) return;
  timer_.expires_after(kMaxIdle);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& canceled) {
    const std::shared_ptr<IdleConnections> held = weak.lock();
    if (canceled || held == nullptr) return;
    std::lock_guard lock(held->mutex_);
    held->timer_runs_ = false;
    held->CloseExpired(std::chrono::steady_clock::now());
    if (!held->connections_.empty()) held->StartTimer();
  });
}

}  // namespace det::gateway
