#include "trial_api/cpp/core/exchange.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/trial_client.h"

namespace det::core {
namespace {

class MasterExchange final : public Exchange {
 public:
  explicit MasterExchange(std::shared_ptr<TrialClient> client) : client_(std::move(client)) {}

  std::vector<std::string> AllGather(const std::string& key, const Ranks& ranks,
                                     const std::string& mine) override {
    return client_->AllGather(key, ranks.rank, ranks.size, mine);
  }

 private:
  const std::shared_ptr<TrialClient> client_;
};

// Each key and rank has one file, which is renamed into place, so that an existing file is
// complete.
class DirectoryExchange final : public Exchange {
 public:
  DirectoryExchange(std::string dir, std::chrono::seconds timeout)
      : dir_(std::move(dir)), timeout_(timeout) {}

  std::vector<std::string> AllGather(const std::string& key, const Ranks& ranks,
                                     const std::string& mine) override {
    const absl::Status written = base::WriteFileAtomically(Path(key, ranks.rank), mine);
    if (!written.ok()) throw Error("rendezvous: " + std::string(written.message()));
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    std::vector<std::string> all;
    for (int rank = 0; rank < ranks.size; ++rank) all.push_back(Await(key, rank, deadline));
    return all;
  }

 private:
  std::string Path(const std::string& key, int rank) const {
    return dir_ + "/" + key + "." + std::to_string(rank);
  }

  // Other processes may create files at any time, so the directory is polled.
  std::string Await(const std::string& key, int rank,
                    std::chrono::steady_clock::time_point deadline) const {
    constexpr auto kMaxPause = std::chrono::milliseconds(20);
    auto pause = std::chrono::milliseconds(1);
    while (true) {
      if (absl::StatusOr<std::string> text = base::ReadFile(Path(key, rank)); text.ok()) {
        return *std::move(text);
      }
      if (std::chrono::steady_clock::now() > deadline) {
        throw Error("rendezvous: rank " + std::to_string(rank) + " did not appear within " +
                    std::to_string(timeout_.count()) + " s in " + dir_);
      }
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kMaxPause);
    }
  }

  const std::string dir_;
  const std::chrono::seconds timeout_;
};

}  // namespace

std::unique_ptr<Exchange> MakeMasterExchange(std::shared_ptr<TrialClient> client) {
  return std::make_unique<MasterExchange>(std::move(client));
}

std::unique_ptr<Exchange> MakeDirectoryExchange(std::string dir, std::chrono::seconds timeout) {
  return std::make_unique<DirectoryExchange>(std::move(dir), timeout);
}

}  // namespace det::core
