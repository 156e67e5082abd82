// A cache of parsed configurations by their text. Pages of a table contain the same configurations
// again and again, and parsing one takes longer than reading the rest of its row.
//
// Any thread.
#ifndef MASTER_STORE_POSTGRES_PARSED_CONFIGS_H_
#define MASTER_STORE_POSTGRES_PARSED_CONFIGS_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "master/core/model/experiment_config.h"

namespace det::store {

class ParsedConfigs {
 public:
  using Config = std::shared_ptr<const model::ExperimentConfig>;

  // Keeps two generations of up to `bytes` bytes of text each.
  explicit ParsedConfigs(size_t bytes = size_t{1} << 20) : bytes_(bytes) {}

  // Like model::ExperimentConfigFromJson. Errors are not cached.
  absl::StatusOr<Config> Parse(std::string_view json);

 private:
  using Known = std::unordered_map<std::string, Config>;
  // Returns null if it is not cached.
  Config Find(const std::string& json);
  void Keep(std::string json, Config config);

  const size_t bytes_;
  std::mutex mutex_;
  // The current generation and the previous one; entries found in the previous one move to the
  // current.
  Known now_, before_;
  size_t size_ = 0;  // bytes of the texts in now_
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_PARSED_CONFIGS_H_
