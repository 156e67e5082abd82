// A template: a part of an experiment's configuration, which others stand on.
// Called by service, on any thread.
#ifndef MASTER_PARSE_TEMPLATE_H_
#define MASTER_PARSE_TEMPLATE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "master/core/model/value.h"

namespace det::model {

// What the text says. INVALID_ARGUMENT with all its problems, a line each: what is there must be
// legal, what is missing may come from the configuration that stands on it.
//   template small:3: resources.slots_per_trial: expected an integer >= 0, found "two"
absl::StatusOr<Value> ParseTemplate(std::string_view yaml, const std::string& name);

}  // namespace det::model

#endif  // MASTER_PARSE_TEMPLATE_H_
