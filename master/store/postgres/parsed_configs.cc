#include "master/store/postgres/parsed_configs.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "master/parse/parse.h"

namespace det::store {

absl::StatusOr<ParsedConfigs::Config> ParsedConfigs::Parse(std::string_view json,
                                                           std::string_view change_key,
                                                           Change change) {
  std::string key;
  key.reserve(json.size() + 1 + change_key.size());
  key.append(json).append(1, '\0').append(change_key);
  if (std::optional<Config> known = cache_.Find(key)) return *std::move(known);
  DET_ASSIGN_OR_RETURN(model::ExperimentConfig parsed, model::ExperimentConfigFromJson(json));
  change(parsed);
  auto config = std::make_shared<const model::ExperimentConfig>(std::move(parsed));
  const size_t size = key.size();
  cache_.Keep(std::move(key), config, size);
  return config;
}

}  // namespace det::store
