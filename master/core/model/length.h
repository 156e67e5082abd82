// A length of training in the user's unit. PURE.
#ifndef MASTER_CORE_MODEL_LENGTH_H_
#define MASTER_CORE_MODEL_LENGTH_H_

#include <cstdint>

namespace det::model {

struct Length {
  enum class Unit { kBatches, kRecords, kEpochs };
  Unit unit = Unit::kBatches;
  int64_t count = 0;
  friend bool operator==(const Length&, const Length&) = default;
};

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_LENGTH_H_
