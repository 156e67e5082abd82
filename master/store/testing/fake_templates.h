// Templates in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_TEMPLATES_H_
#define MASTER_STORE_TESTING_FAKE_TEMPLATES_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "master/store/interfaces/templates.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeTemplates final : public Templates {
 public:
  // `held` is asked before each write, without the database's mutex.
  FakeTemplates(FakeDatabase* database, std::function<absl::Status()> held)
      : db_(*database), records_(db_.templates), held_(std::move(held)) {}

  absl::StatusOr<std::vector<TemplateRecord>> ListTemplates() override;
  absl::StatusOr<TemplateRecord> GetTemplate(const std::string& name) override;
  absl::Status AddTemplate(const TemplateRecord& record) override;
  absl::Status PutTemplate(const TemplateRecord& record, int32_t from) override;
  absl::Status ReplaceTemplate(const TemplateRecord& record) override;
  absl::Status RenameTemplate(const std::string& name, int32_t in, const std::string& to) override;
  absl::Status DeleteTemplate(const std::string& name, int32_t in) override;

 private:
  // With its mutex held.
  absl::Status CheckOpen(int32_t workspace) const;

  FakeDatabase& db_;
  std::map<std::string, TemplateRecord>& records_;
  const std::function<absl::Status()> held_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_TEMPLATES_H_
