// Users and their settings in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_PEOPLE_H_
#define MASTER_STORE_TESTING_FAKE_PEOPLE_H_

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "master/store/interfaces/people.h"
#include "master/store/testing/fake_access.h"

namespace det::store {

struct PeopleRows {
  std::map<model::UserId, UserRecord> users;
  std::map<std::tuple<model::UserId, std::string, std::string>, std::string> settings;
};

class FakePeople final : public People {
 public:
  // `mutex` guards the rows. `held` is asked before each write, without the mutex.
  FakePeople(std::mutex* mutex, PeopleRows* rows, AccessRows* access,
             std::function<absl::Status()> held)
      : mutex_(*mutex), rows_(*rows), access_(*access), held_(std::move(held)) {}

  absl::StatusOr<UserRecord> GetUser(model::UserId id) override;
  absl::StatusOr<UserRecord> GetUserByName(const std::string& username) override;
  absl::StatusOr<UserPage> ListUsers(const UserQuery& query) override;
  absl::StatusOr<UserRecord> AddUser(const UserRecord& user, model::Role role) override;
  absl::StatusOr<UserRecord> ChangeUser(model::UserId id, const UserPatch& patch,
                                        absl::Time now) override;
  absl::Status NoteLogin(model::UserId id, absl::Time at) override;

  absl::StatusOr<std::vector<UserSetting>> ListSettings(model::UserId id) override;
  absl::Status PutSettings(model::UserId id, const std::vector<UserSetting>& settings) override;
  absl::Status DropSettings(model::UserId id) override;

 private:
  // Of another user than `id`. REQUIRES the mutex.
  bool IsTaken(const std::string& name, model::UserId id) const;

  std::mutex& mutex_;
  PeopleRows& rows_;
  AccessRows& access_;
  const std::function<absl::Status()> held_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_PEOPLE_H_
