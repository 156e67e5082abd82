#include "master/store/postgres/parsed_configs.h"

#include <utility>

#include "base/status_macros.h"
#include "master/parse/parse.h"

namespace det::store {

absl::StatusOr<ParsedConfigs::Config> ParsedConfigs::Parse(std::string_view json) {
  std::string text(json);
  if (Config known = Find(text)) return known;
  DET_ASSIGN_OR_RETURN(model::ExperimentConfig parsed, model::ExperimentConfigFromJson(json));
  auto config = std::make_shared<const model::ExperimentConfig>(std::move(parsed));
  Keep(std::move(text), config);
  return config;
}

ParsedConfigs::Config ParsedConfigs::Find(const std::string& json) {
  std::lock_guard lock(mutex_);
  if (const auto it = now_.find(json); it != now_.end()) return it->second;
  const auto it = before_.find(json);
  if (it == before_.end()) return nullptr;
  size_ += json.size();
  return now_.insert(before_.extract(it)).position->second;
}

void ParsedConfigs::Keep(std::string json, Config config) {
  const size_t size = json.size();
  if (size > bytes_) return;
  std::lock_guard lock(mutex_);
  if (size_ + size > bytes_) {
    before_ = std::exchange(now_, {});
    size_ = 0;
  }
  if (now_.emplace(std::move(json), std::move(config)).second) size_ += size;
}

}  // namespace det::store
