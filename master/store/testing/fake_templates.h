// Templates in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_TEMPLATES_H_
#define MASTER_STORE_TESTING_FAKE_TEMPLATES_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/store/interfaces/templates.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeTemplates final : public Templates {
 public:
  // `check_epoch` is called before each write, without the database's mutex.
  FakeTemplates(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : db_(*database), records_(db_.templates), check_epoch_(std::move(check_epoch)) {}

  absl::StatusOr<std::vector<TemplateRecord>> ListTemplates() override;
  absl::StatusOr<TemplateRecord> GetTemplate(const std::string& name) override;
  absl::Status AddTemplate(const TemplateRecord& record) override;
  absl::Status PutTemplate(const TemplateRecord& record, int32_t from) override;
  absl::Status ReplaceTemplate(const TemplateRecord& record) override;
  absl::Status RenameTemplate(const std::string& name, int32_t in, const std::string& to) override;
  absl::Status DeleteTemplate(const std::string& name, int32_t in) override;

 private:
  // REQUIRES the mutex.
  absl::Status CheckOpen(int32_t workspace) const;

  FakeDatabase& db_;
  std::map<std::string, TemplateRecord>& records_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_TEMPLATES_H_
