// Every field of the experiment configuration in one table (field_table.h). On any thread. PURE.
#ifndef MASTER_CORE_MODEL_FIELDS_H_
#define MASTER_CORE_MODEL_FIELDS_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "master/core/model/experiment_config.h"
#include "master/core/model/field_table.h"

namespace det::model {

const FieldTable& ExperimentFields();

std::span<const Field> Fields();
const Field* FindField(std::string_view path);
const std::vector<const Field*>& FieldsAt(std::string_view path);
const Field* KindField(std::string_view path);

// The parts of the table, in the order in which documentation shows them.
std::span<const Field> GeneralFields();
std::span<const Field> SearcherFields();
std::span<const Field> TaskFields();
std::span<const Field> TrainingFields();
std::span<const Field> ExtraFields();

// Whether a map stands there whose members are things of their own.
bool IsMap(const Field& field);

// Whether the field means something in this configuration.
bool AppliesTo(const Field& field, const ExperimentConfig& config);

// What stands in the field, in the configuration's own format.
Value FieldValue(const Field& field, const ExperimentConfig& config, size_t item = 0);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_FIELDS_H_
