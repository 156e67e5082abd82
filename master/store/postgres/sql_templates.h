// Templates in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_TEMPLATES_H_
#define MASTER_STORE_POSTGRES_SQL_TEMPLATES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/store/interfaces/templates.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlTemplates final : public Templates {
 public:
  SqlTemplates(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

  absl::StatusOr<std::vector<TemplateRecord>> ListTemplates() override;
  absl::StatusOr<TemplateRecord> GetTemplate(const std::string& name) override;
  absl::Status AddTemplate(const TemplateRecord& record) override;
  absl::Status PutTemplate(const TemplateRecord& record, int32_t from) override;
  absl::Status ReplaceTemplate(const TemplateRecord& record) override;
  absl::Status RenameTemplate(const std::string& name, int32_t in, const std::string& to) override;
  absl::Status DeleteTemplate(const std::string& name, int32_t in) override;

 private:
  Pool& pool_;
  Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_TEMPLATES_H_
