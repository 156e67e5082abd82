// Users and their settings in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_USERS_H_
#define MASTER_STORE_POSTGRES_SQL_USERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/users.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlUsers final : public Users {
 public:
  SqlUsers(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

  absl::StatusOr<UserRecord> GetUser(model::UserId id) override;
  absl::StatusOr<UserRecord> GetUserByName(const std::string& username) override;
  absl::StatusOr<UserPage> ListUsers(const UserQuery& query) override;
  absl::StatusOr<UserRecord> AddUser(const UserRecord& user, model::Role role) override;
  absl::StatusOr<UserRecord> ChangeUser(model::UserId id, const UserPatch& patch,
                                        absl::Time now) override;
  absl::Status RecordLogin(model::UserId id, absl::Time at) override;

  absl::StatusOr<std::vector<UserSetting>> ListSettings(model::UserId id) override;
  absl::Status PutSettings(model::UserId id, const std::vector<UserSetting>& settings) override;
  absl::Status DropSettings(model::UserId id) override;

 private:
  Pool& pool_;
  Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_USERS_H_
