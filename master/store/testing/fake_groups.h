// Groups in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_GROUPS_H_
#define MASTER_STORE_TESTING_FAKE_GROUPS_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "master/store/interfaces/groups.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeGroups final : public Groups {
 public:
  // `check_epoch` is called before each write, without the database's mutex.
  FakeGroups(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : db_(*database), check_epoch_(std::move(check_epoch)) {}

 private:
  [[maybe_unused]] FakeDatabase& db_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_GROUPS_H_
