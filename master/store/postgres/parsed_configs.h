// A cache of parsed configurations. Pages of a table contain the same configurations again and
// again, and parsing one takes longer than reading the rest of its row. While a row does not
// change, its configuration is one object.
//
// Any thread.
#ifndef MASTER_STORE_POSTGRES_PARSED_CONFIGS_H_
#define MASTER_STORE_POSTGRES_PARSED_CONFIGS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/generation_cache.h"
#include "master/core/model/experiment_config.h"

namespace det::store {

class ParsedConfigs {
 public:
  using Config = std::shared_ptr<const model::ExperimentConfig>;
  using Change = absl::FunctionRef<void(model::ExperimentConfig&)>;

  // Keeps two generations of up to `bytes` bytes of text each.
  explicit ParsedConfigs(size_t bytes = size_t{4} << 20) : cache_(bytes) {}

  // Like model::ExperimentConfigFromJson, and then applies `change`, which depends only on
  // `change_key`. Errors are not cached.
  absl::StatusOr<Config> Parse(std::string_view json, std::string_view change_key, Change change);

 private:
  base::GenerationCache<std::string, Config> cache_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_PARSED_CONFIGS_H_
