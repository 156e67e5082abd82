// Templates in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_FAKE_TEMPLATES_H_
#define MASTER_STORE_FAKE_TEMPLATES_H_

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "master/store/templates.h"

namespace det::store {

class FakeTemplates final : public Templates {
 public:
  absl::StatusOr<std::vector<TemplateRecord>> ListTemplates() override;
  absl::StatusOr<TemplateRecord> GetTemplate(const std::string& name) override;
  absl::Status AddTemplate(const TemplateRecord& record) override;
  absl::Status PutTemplate(const TemplateRecord& record) override;
  absl::Status DeleteTemplate(const std::string& name) override;

 private:
  std::mutex mutex_;
  std::map<std::string, TemplateRecord> records_;
};

}  // namespace det::store

#endif  // MASTER_STORE_FAKE_TEMPLATES_H_
