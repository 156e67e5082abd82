// A cache of context archives on disk by their hash; missing ones are fetched from the master.
// Called on the threads of tasks, which block; tasks that need the same archive share one download.
// Never returns an archive whose SHA-256 differs from its name. If the cache exceeds its limit, the
// least recently used archives are removed.
#ifndef AGENT_LINK_CONTEXT_CACHE_H_
#define AGENT_LINK_CONTEXT_CACHE_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/driver/process_driver.h"
#include "base/fd.h"

namespace det::agent {

class ContextReader {
 public:
  using Sink = absl::FunctionRef<absl::Status(absl::string_view chunk)>;
  virtual ~ContextReader() = default;
  // Passes the archive to `sink` in chunks. Returns UNAVAILABLE if the call should be retried. Any
  // thread.
  virtual absl::Status ReadContext(const std::string& hash, std::stop_token stop, Sink sink) = 0;
};

class ContextCache final : public ContextSource {
 public:
  static constexpr uint64_t kDefaultLimit = 10ULL << 30;

  ContextCache(std::string dir, ContextReader* reader, uint64_t limit_bytes = kDefaultLimit)
      : dir_(std::move(dir)), reader_(reader), limit_bytes_(limit_bytes) {}

  absl::StatusOr<base::Fd> Open(const std::string& hash, std::stop_token stop) override;

 private:
  std::string GetPath(const std::string& hash) const;
  absl::StatusOr<base::Fd> OpenCached(const std::string& hash) const;
  absl::Status Fetch(const std::string& hash, const std::stop_token& stop) const;
  absl::Status FetchOnce(const std::string& hash, const std::stop_token& stop) const;
  // Removes the least recently used archives until the limit is met; `keep` is never removed.
  void Evict(const std::string& keep) const;

  const std::string dir_;
  ContextReader* const reader_;
  const uint64_t limit_bytes_;
  std::mutex mutex_;
  std::condition_variable_any fetched_;
  std::set<std::string> fetching_;  // guarded by mutex_
};

}  // namespace det::agent

#endif  // AGENT_LINK_CONTEXT_CACHE_H_
