// Tables of fields as pages of the documentation. PURE.
#ifndef MASTER_CORE_MODEL_FIELDS_PAGE_H_
#define MASTER_CORE_MODEL_FIELDS_PAGE_H_

#include <string>

#include "master/core/model/field_table.h"

namespace det::model {

// docs/reference/experiment-config.md
std::string ExperimentConfigPage();

// What the pages of other tables consist of: the fields that stand alone, and all below sections
// and lists, a heading each.
std::string GeneralTable(const FieldTable& table);
std::string SectionTables(const FieldTable& table);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_FIELDS_PAGE_H_
