// Templates: partial experiment configurations that experiments are merged with.
// Called by the API services, on any thread.
#ifndef MASTER_PARSE_TEMPLATE_H_
#define MASTER_PARSE_TEMPLATE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "master/core/model/value.h"

namespace det::model {

// Parses a template. INVALID_ARGUMENT with all problems, a line each: the fields that it sets must
// be valid; required fields may be missing.
//   template small:3: resources.slots_per_trial: expected an integer >= 0, found "two"
absl::StatusOr<Value> ParseTemplate(std::string_view yaml, const std::string& name);

}  // namespace det::model

#endif  // MASTER_PARSE_TEMPLATE_H_
