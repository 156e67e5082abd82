// The table of fields as a JSON Schema (draft 2020-12), for editors: `det dev config-schema`.
// It knows the fields, their types, ranges and kinds; rules between fields are the parser's alone.
// Called by the tool that embeds it into det, and by tests. PURE.
#ifndef MASTER_CORE_MODEL_FIELDS_SCHEMA_H_
#define MASTER_CORE_MODEL_FIELDS_SCHEMA_H_

#include "master/core/model/value.h"

namespace det::model {

Value ExperimentConfigSchema();

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_FIELDS_SCHEMA_H_
