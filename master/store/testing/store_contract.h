// The contract suite that every Store must pass. A test of an implementation instantiates it:
//
//   INSTANTIATE_TEST_SUITE_P(Fake, StoreContractTest, Values([] { return MakeFakeBackend(); }));
#ifndef MASTER_STORE_TESTING_STORE_CONTRACT_H_
#define MASTER_STORE_TESTING_STORE_CONTRACT_H_

#include <functional>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "master/store/interfaces/store.h"

namespace det::store {

// An empty database for one test.
class StoreBackend {
 public:
  virtual ~StoreBackend() = default;
  // Opens another store on it, as another master would.
  virtual std::unique_ptr<Store> Open() = 0;
};

using StoreBackendFactory = std::function<std::unique_ptr<StoreBackend>()>;

class StoreContractTest : public ::testing::TestWithParam<StoreBackendFactory> {
 protected:
  StoreContractTest() : backend_(GetParam()()), store_(backend_->Open()) {}

  // Loads on the first call, then commits in order.
  void Commit(const std::vector<cluster::Change>& changes);
  cluster::Image Reload();

  std::unique_ptr<StoreBackend> backend_;
  std::unique_ptr<Store> store_;
  int64_t sequence_ = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_STORE_CONTRACT_H_
