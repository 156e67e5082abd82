#include "agent/driver/fake_driver.h"

#include <functional>
#include <memory>

#include "agent/driver/driver_contract.h"
#include "base/fake_event_loop.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

class FakeHarness final : public DriverHarness {
 public:
  Driver& driver() override { return *driver_; }
  void ReplaceDriver() override {
    driver_.reset();
    driver_ = std::make_unique<FakeDriver>(&loop_, &recorder_, tasks_);
  }
  Recorder& recorder() override { return recorder_; }
  bool WaitUntil(const AllocationId& id,
                 const std::function<bool(const Recorder::Record&)>& condition) override {
    loop_.Advance(absl::Seconds(2));
    return condition(recorder_.Get(id));
  }
  std::vector<std::string> PrintHelloAndExit3() override {
    return {"print", "hello", "run_for", "1s", "exit_code", "3"};
  }
  std::vector<std::string> RunForever() override { return {}; }
  std::vector<std::string> PrintHelloAndIgnoreSigterm() override {
    return {"print", "hello", "ignore_terminate", "1"};
  }
  std::vector<std::string> CannotStart() override { return {"fail_start", "no"}; }

 private:
  base::FakeEventLoop loop_;
  Recorder recorder_;
  const std::shared_ptr<FakeTasks> tasks_ = std::make_shared<FakeTasks>();
  std::unique_ptr<FakeDriver> driver_ = std::make_unique<FakeDriver>(&loop_, &recorder_, tasks_);
};

INSTANTIATE_TEST_SUITE_P(Fake, DriverContract, testing::Values(HarnessFactory([] {
                           return std::make_unique<FakeHarness>();
                         })));

}  // namespace
}  // namespace det::agent
