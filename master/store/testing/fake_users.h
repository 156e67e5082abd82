// Users and their settings in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_USERS_H_
#define MASTER_STORE_TESTING_FAKE_USERS_H_

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/users.h"
#include "master/store/testing/fake_access.h"

namespace det::store {

struct UserRows {
  std::map<model::UserId, UserRecord> users;
  std::map<std::tuple<model::UserId, std::string, std::string>, std::string> settings;
};

class FakeUsers final : public Users {
 public:
  // `mutex` guards the rows. `check_epoch` is called before each write, without the mutex.
  FakeUsers(std::mutex* mutex, UserRows* rows, AccessRows* access,
            std::function<absl::Status()> check_epoch)
      : mutex_(*mutex), rows_(*rows), access_(*access), check_epoch_(std::move(check_epoch)) {}

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
  // Whether another user than `id` has the name. REQUIRES the mutex.
  bool IsTaken(const std::string& name, model::UserId id) const;

  std::mutex& mutex_;
  UserRows& rows_;
  AccessRows& access_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_USERS_H_
