#include "master/store/testing/fake_store.h"

#include <memory>

#include "gtest/gtest.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

class FakeBackend final : public StoreBackend {
 public:
  std::unique_ptr<Store> Open() override { return std::make_unique<FakeStore>(database_); }

 private:
  std::shared_ptr<FakeDatabase> database_ = MakeFakeDatabase();
};

INSTANTIATE_TEST_SUITE_P(Fake, StoreContractTest,
                         ::testing::Values([] { return std::make_unique<FakeBackend>(); }));

}  // namespace
}  // namespace det::store
