// Connections to programs in tasks that are open but not in use, for the next request.
//
// Thread-safe. A connection belongs to nobody while it is here, so that another client's request,
// on another strand, can take it.
#ifndef MASTER_GATEWAY_IDLE_CONNECTIONS_H_
#define MASTER_GATEWAY_IDLE_CONNECTIONS_H_

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fd.h"
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace det::gateway {

class IdleConnections : public std::enable_shared_from_this<IdleConnections> {
 public:
  static constexpr size_t kMaxPerKey = 8;
  // Shorter than programs usually keep them.
  static constexpr std::chrono::seconds kMaxIdle{4};

  explicit IdleConnections(std::shared_ptr<boost::asio::io_context> io)
      : io_(std::move(io)), timer_(*io_) {}

  // Returns one that the program has not closed; invalid if there is none.
  base::Fd Take(const std::string& key);
  void Put(const std::string& key, base::Fd connection);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Connection {
    base::Fd fd;
    Time until;
  };

  // REQUIRES the lock.
  void CloseExpired(Time now);
  void StartTimer();

  const std::shared_ptr<boost::asio::io_context> io_;
  std::mutex mutex_;
  boost::asio::steady_timer timer_;
  bool timer_runs_ = false;
  std::map<std::string, std::vector<Connection>> connections_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_IDLE_CONNECTIONS_H_
