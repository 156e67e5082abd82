// The model registry in PostgreSQL: models in sql_models.cc, versions in sql_model_versions.cc.
// Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_MODELS_H_
#define MASTER_STORE_POSTGRES_SQL_MODELS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/models.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlModels final : public Models {
 public:
  SqlModels(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

  absl::StatusOr<ModelRecord> GetModel(const std::string& name) override;
  absl::StatusOr<ModelPage> ListModels(const ModelQuery& query) override;
  absl::StatusOr<ModelRecord> AddModel(const ModelRecord& model) override;
  absl::StatusOr<ModelRecord> ChangeModel(int32_t id, const ModelPatch& patch) override;
  absl::Status DeleteModel(int32_t id) override;
  absl::StatusOr<std::vector<std::string>> ListModelLabels(const ModelQuery& query) override;

  absl::StatusOr<ModelVersionRecord> GetVersion(int32_t model, int32_t version) override;
  absl::StatusOr<ModelVersionPage> ListVersions(int32_t model,
                                                const ModelVersionQuery& query) override;
  absl::StatusOr<ModelVersionRecord> AddVersion(const ModelVersionRecord& version) override;
  absl::StatusOr<ModelVersionRecord> ChangeVersion(int32_t model, int32_t version,
                                                   const ModelVersionPatch& patch) override;
  absl::Status DeleteVersion(int32_t model, int32_t version, absl::Time at) override;
  absl::StatusOr<std::vector<std::string>> ListHolders(model::ExperimentId id) override;

 private:
  Pool& pool_;
  Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_MODELS_H_
