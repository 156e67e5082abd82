#include "trial_api/cpp/core/nccl_communicator.h"

#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/peer_watch.h"

namespace det::core {
namespace {

using Steady = std::chrono::steady_clock;

// The maximum time to close a channel, because peers may be busy.
constexpr std::chrono::seconds kLeaveTimeout(5);
// Most sums take microseconds; polling for them uses a core, so it is limited to this time.
constexpr std::chrono::microseconds kPollTime(500);
constexpr std::chrono::microseconds kPause(50);

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::unique_ptr<Communicator> host, int device, std::shared_ptr<NcclApi> api,
                   std::shared_ptr<const PeerWatch> watch)
      : host_(std::move(host)), device_(device), api_(std::move(api)), watch_(std::move(watch)) {
    api_->UseDevice(device_);
    NcclApi::Id id = {};
    if (ranks().rank == 0) id = api_->MakeId();
    host_->Broadcast(&id, sizeof id, 0);
    stream_ = api_->MakeStream();
    try {
      comm_ = api_->Join(id, ranks().rank, ranks().size);
      Wait("joining", [&] { return true; });
    } catch (...) {
      End();
      throw;
    }
  }

  ~NcclCommunicator() override { End(); }

  const Ranks& ranks() const override { return host_->ranks(); }
  bool on_device() const override { return true; }

  void AllReduceSum(void* data, size_t count, DType dtype) override {
    if (count == 0) return;
    RunOperation("all-reduce", [&] { api_->AllReduceSum(data, count, dtype, comm_, stream_); });
  }
  void ReduceSum(void* data, size_t count, DType dtype, int root) override {
    if (count == 0) return;
    RunOperation("reduce", [&] { api_->ReduceSum(data, count, dtype, root, comm_, stream_); });
  }
  void Broadcast(void* data, size_t bytes, int root) override {
    if (bytes == 0) return;
    RunOperation("broadcast", [&] { api_->Broadcast(data, bytes, root, comm_, stream_); });
  }
  std::vector<std::string> AllGather(const std::string& mine) override {
    return host_->AllGather(mine);
  }
  void AllGatherBlocks(const void* mine, size_t bytes, void* all) override {
    if (bytes == 0) return;
    RunOperation("all-gather", [&] { api_->AllGather(mine, bytes, all, comm_, stream_); });
  }
  void Barrier() override { host_->Barrier(); }

  std::unique_ptr<Communicator> Duplicate(const std::string& name) override {
    return std::make_unique<NcclCommunicator>(host_->Duplicate(name), device_, api_, watch_);
  }
  std::unique_ptr<Communicator> Split(const std::string& name,
                                      const std::vector<int>& members) override {
    return std::make_unique<NcclCommunicator>(host_->Split(name, members), device_, api_, watch_);
  }

 private:
  template <class Start>
  void RunOperation(const char* operation, const Start& start) {
    if (comm_ == nullptr) Fail(operation);
    api_->UseDevice(device_);
    api_->FollowComputation(stream_);
    start();
    Wait(operation, [&] { return api_->Finished(stream_); });
  }

  // Waits until the last operation has been started, and `finished`.
  template <class Finished>
  void Wait(const char* operation, const Finished& finished) {
    const Steady::time_point began = Steady::now();
    while (true) {
      std::string words;
      const NcclApi::State state = api_->Check(comm_, &words);
      if (state == NcclApi::State::kReady && finished()) return;
      own_failure_ = state == NcclApi::State::kFailed;
      if (!own_failure_ && state != NcclApi::State::kPeerLost) words = watch_->gone();
      if (!words.empty()) {
        failure_ = words;
        api_->Abort(std::exchange(comm_, nullptr));
        Fail(operation);
      }
      if (Steady::now() - began > kPollTime) std::this_thread::sleep_for(kPause);
    }
  }

  [[noreturn]] void Fail(const char* operation) const {
    const std::string words = std::string(operation) + ": " + failure_;
    if (own_failure_) throw Error(words);
    throw PeerGone(words);
  }

  // Waits neither for a lost peer nor long for others. Failures are ignored here.
  void End() noexcept {
    try {
      api_->UseDevice(device_);
      if (comm_ != nullptr && !LeaveWithPeers()) api_->Abort(comm_);
      comm_ = nullptr;
      api_->FreeStream(stream_);
    } catch (const std::exception&) {
      comm_ = nullptr;
    }
  }

  bool LeaveWithPeers() {
    api_->Leave(comm_);
    const Steady::time_point end = Steady::now() + kLeaveTimeout;
    while (Steady::now() < end && watch_->gone().empty()) {
      std::string words;
      const NcclApi::State state = api_->Check(comm_, &words);
      if (state == NcclApi::State::kFailed || state == NcclApi::State::kPeerLost) return false;
      if (state == NcclApi::State::kReady) {
        api_->Free(comm_);
        return true;
      }
      std::this_thread::sleep_for(kPause);
    }
    return false;
  }

  const std::unique_ptr<Communicator> host_;
  const int device_;
  const std::shared_ptr<NcclApi> api_;
  const std::shared_ptr<const PeerWatch> watch_;
  NcclApi::Stream stream_ = nullptr;
  NcclApi::Comm comm_ = nullptr;  // null after a failure
  std::string failure_;
  bool own_failure_ = false;  // whether the failure is this rank's own
};

}  // namespace

std::unique_ptr<Communicator> ConnectNccl(Communicator& host, int device,
                                          std::shared_ptr<NcclApi> api) {
  auto watch = std::make_shared<const PeerWatch>(host.Duplicate("watch"));
  return std::make_unique<NcclCommunicator>(host.Duplicate("nccl"), device, std::move(api),
                                            std::move(watch));
}

}  // namespace det::core
