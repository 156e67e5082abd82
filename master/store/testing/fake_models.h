// The model registry in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_MODELS_H_
#define MASTER_STORE_TESTING_FAKE_MODELS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/models.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeModels final : public Models {
 public:
  // `check_epoch` is called before each write, without the database's mutex.
  FakeModels(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : db_(*database), rows_(database->models), check_epoch_(std::move(check_epoch)) {}

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
  // REQUIRE the mutex.
  ModelRecord Read(const ModelRecord& row) const;
  ModelVersionRecord Read(const ModelVersionRecord& row) const;
  // Return null if there is none.
  ModelRecord* Find(int32_t id);
  ModelVersionRecord* Find(int32_t model, int32_t version);
  bool IsTaken(const std::string& name, int32_t excluded) const;
  absl::Status CheckOpen(int32_t workspace) const;
  std::vector<ModelRecord> FilterModels(const ModelQuery& query) const;
  absl::Status VersionNotFound(int32_t model, int32_t version);

  FakeDatabase& db_;
  ModelRows& rows_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_MODELS_H_
