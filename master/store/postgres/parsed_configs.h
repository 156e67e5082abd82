// Configurations that were read lately, by their text: a page of a table has the same forty again
// and again, and reading one takes longer than all else of its row.
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

  // Of texts up to `bytes` all are kept, and up to as many again of those before.
  explicit ParsedConfigs(size_t bytes = size_t{1} << 20) : bytes_(bytes) {}

  // As model::ExperimentConfigFromJson, whose errors are not kept.
  absl::StatusOr<Config> Parse(std::string_view json);

 private:
  using Known = std::unordered_map<std::string, Config>;
  // Null: not known.
  Config Find(const std::string& json);
  void Keep(std::string json, Config config);

  const size_t bytes_;
  std::mutex mutex_;
  // Those of now, and those of before, of which what is found becomes one of now.
  Known now_, before_;
  size_t size_ = 0;  // bytes of the texts in now_
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_PARSED_CONFIGS_H_
