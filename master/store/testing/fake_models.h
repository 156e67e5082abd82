// The model registry in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_MODELS_H_
#define MASTER_STORE_TESTING_FAKE_MODELS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "master/store/interfaces/models.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeModels final : public Models {
 public:
  // `held` is asked before each write, without the database's mutex.
  FakeModels(FakeDatabase* database, std::function<absl::Status()> held)
      : db_(*database), rows_(database->models), held_(std::move(held)) {}

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
  // These hold the mutex already.
  ModelRecord Read(const ModelRecord& row) const;
  ModelVersionRecord Read(const ModelVersionRecord& row) const;
  // Null for none.
  ModelRecord* Find(int32_t id);
  ModelVersionRecord* Find(int32_t model, int32_t version);
  bool IsTaken(const std::string& name, int32_t but) const;
  absl::Status CheckOpen(int32_t workspace) const;
  std::vector<ModelRecord> Asked(const ModelQuery& query) const;
  absl::Status NoVersion(int32_t model, int32_t version);

  FakeDatabase& db_;
  ModelRows& rows_;
  const std::function<absl::Status()> held_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_MODELS_H_
