// Templates in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_FAKE_TEMPLATES_H_
#define MASTER_STORE_FAKE_TEMPLATES_H_

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "master/store/templates.h"

namespace det::store {

class FakeTemplates final : public Templates {
 public:
  // `mutex` guards `records`. `held` is asked before each write, without the mutex.
  FakeTemplates(std::mutex* mutex, std::map<std::string, TemplateRecord>* records,
                std::function<absl::Status()> held)
      : mutex_(*mutex), records_(*records), held_(std::move(held)) {}

  absl::StatusOr<std::vector<TemplateRecord>> ListTemplates() override;
  absl::StatusOr<TemplateRecord> GetTemplate(const std::string& name) override;
  absl::Status AddTemplate(const TemplateRecord& record) override;
  absl::Status PutTemplate(const TemplateRecord& record) override;
  absl::Status RenameTemplate(const std::string& name, const std::string& to) override;
  absl::Status DeleteTemplate(const std::string& name) override;

 private:
  std::mutex& mutex_;
  std::map<std::string, TemplateRecord>& records_;
  const std::function<absl::Status()> held_;
};

}  // namespace det::store

#endif  // MASTER_STORE_FAKE_TEMPLATES_H_
