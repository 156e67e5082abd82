// The table of fields as the page docs/reference/experiment-config.md. PURE.
#ifndef MASTER_MODEL_FIELDS_PAGE_H_
#define MASTER_MODEL_FIELDS_PAGE_H_

#include <string>

namespace det::model {

std::string ExperimentConfigPage();

}  // namespace det::model

#endif  // MASTER_MODEL_FIELDS_PAGE_H_
