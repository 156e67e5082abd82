// Helpers for tests of this folder.
#ifndef MASTER_PARSE_TESTING_H_
#define MASTER_PARSE_TESTING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "master/core/model/fields.h"
#include "master/parse/parse.h"

namespace det::model {

inline constexpr char kMinimal[] =
    "entrypoint: 'true'\n"
    "searcher: {name: single, metric: loss}\n";

inline ConfigDefaults TestDefaults() {
  return {.name = "Experiment", .checkpoint_host_path = "/ckpt", .experiment_seed = 7};
}

inline absl::StatusOr<ExperimentConfig> Parse(const std::string& yaml,
                                              const std::vector<std::string>& overrides = {},
                                              std::vector<std::string>* warnings = nullptr) {
  return ParseExperimentConfig(yaml, "const.yaml", overrides, TestDefaults(), warnings);
}

// Returns the error message; "OK" if there is none.
inline std::string Error(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  const auto config = Parse(yaml, overrides);
  return config.ok() ? "OK" : std::string(config.status().message());
}

// Returns a searcher with its required fields: {name: asha, max_trials: 4, ...}
inline std::string MakeSearcher(const std::string& name, const std::string& more = "") {
  std::string text = absl::StrCat("{name: ", name, ", metric: loss");
  for (const Field& field : Fields()) {
    const bool needed =
        field.required_for != nullptr
            ? IsAmong(field.required_for, name)
            : field.required && field.only_for != nullptr && IsAmong(field.only_for, name);
    if (needed && std::string(field.path).starts_with("searcher.")) {
      absl::StrAppend(&text, ", ", field.path + std::string("searcher.").size(), ": 4");
    }
  }
  const bool length = IsAmong("asha|async_halving|adaptive_asha|hyperband|pbt", name) &&
                      more.find("max_") == std::string::npos;
  if (length) absl::StrAppend(&text, ", max_length: 64");
  return absl::StrCat(text, more.empty() ? "" : ", ", more, "}");
}

}  // namespace det::model

#endif  // MASTER_PARSE_TESTING_H_
