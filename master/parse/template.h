// Templates: partial experiment configurations that experiments are merged with.
// Called by the API services, on any thread.
#ifndef MASTER_PARSE_TEMPLATE_H_
#define MASTER_PARSE_TEMPLATE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/value.h"

namespace det::model {

// Parses a template. INVALID_ARGUMENT with all problems, a line each: the fields that it sets must
// be valid; required fields may be missing.
//   template small:3: resources.slots_per_trial: expected an integer >= 0, found "two"
absl::StatusOr<Value> ParseTemplate(std::string_view yaml, const std::string& name);

// Reads a template as it was given, without validation. INVALID_ARGUMENT if the text is not YAML,
// or not a map.
absl::StatusOr<Value> ReadTemplate(std::string_view yaml, const std::string& name);

// Returns the part of a template that applies to experiments, and adds a warning for each field
// that is only for commands and notebooks; returns the text itself if it has none.
absl::StatusOr<std::string> ReadTemplateOfExperiment(const std::string& yaml,
                                                     const std::string& name,
                                                     std::vector<std::string>& warnings);

}  // namespace det::model

#endif  // MASTER_PARSE_TEMPLATE_H_
