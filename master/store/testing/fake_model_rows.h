// The rows of the model registry. Part of FakeDatabase. Guarded by its mutex; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_MODEL_ROWS_H_
#define MASTER_STORE_TESTING_FAKE_MODEL_ROWS_H_

#include <cstdint>
#include <map>
#include <utility>

#include "master/store/interfaces/models.h"

namespace det::store {

// Rows without names of owners and workspaces, and without counts.
struct ModelRows {
  std::map<int32_t, ModelRecord> models;
  std::map<std::pair<int32_t, int32_t>, ModelVersionRecord> versions;  // by model and number
  // the last version number of each model
  std::map<int32_t, int32_t> last_numbers;
  int32_t last_model = 0;
  int32_t last_version = 0;  // the last ID
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_MODEL_ROWS_H_
