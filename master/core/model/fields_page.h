// Tables of fields as pages of the documentation. PURE.
#ifndef MASTER_CORE_MODEL_FIELDS_PAGE_H_
#define MASTER_CORE_MODEL_FIELDS_PAGE_H_

#include <string>

#include "master/core/model/field_table.h"

namespace det::model {

// docs/reference/experiment-config.md
std::string ExperimentConfigPage();

// The parts of the page of any table: the fields outside of sections, and the sections and lists,
// each with a heading.
std::string GeneralTable(const FieldTable& table);
std::string SectionTables(const FieldTable& table);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_FIELDS_PAGE_H_
