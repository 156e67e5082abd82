// A communicator that counts transferred bytes, for tests of the traffic between ranks.
//
// Used by tests, on one thread and on those of its duplicates.
#ifndef TRIAL_API_CPP_TORCH_TESTING_COUNTING_COMMUNICATOR_H_
#define TRIAL_API_CPP_TORCH_TESTING_COUNTING_COMMUNICATOR_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/communicator.h"

namespace det::trial::testing {

// Bytes of data over all channels of one rank.
struct Traffic {
  std::atomic<size_t> summed_for_all = 0;
  std::atomic<size_t> summed_for_one = 0;
  std::atomic<size_t> broadcast = 0;
  std::atomic<size_t> gathered = 0;

  // Returns the minimum number of bytes that all ranks together send, per other rank: a sum is sent
  // to one rank, and a result for all is sent on from there.
  size_t sent() const { return 2 * summed_for_all + summed_for_one + broadcast + gathered; }
};

class CountingCommunicator final : public Communicator {
 public:
  // `inner` must outlive this object.
  explicit CountingCommunicator(Communicator& inner)
      : inner_(inner), traffic_(std::make_shared<Traffic>()) {}

  const Traffic& traffic() const { return *traffic_; }

  const Ranks& ranks() const override { return inner_.ranks(); }
  bool on_device() const override { return inner_.on_device(); }
  void AllReduceSum(void* data, size_t count, DType dtype) override {
    traffic_->summed_for_all += count * GetElementSize(dtype);
    inner_.AllReduceSum(data, count, dtype);
  }
  void ReduceSum(void* data, size_t count, DType dtype, int root) override {
    traffic_->summed_for_one += count * GetElementSize(dtype);
    inner_.ReduceSum(data, count, dtype, root);
  }
  void Broadcast(void* data, size_t bytes, int root) override {
    traffic_->broadcast += bytes;
    inner_.Broadcast(data, bytes, root);
  }
  std::vector<std::string> AllGather(const std::string& mine) override {
    traffic_->gathered += mine.size() * static_cast<size_t>(ranks().size);
    return inner_.AllGather(mine);
  }
  void AllGatherBlocks(const void* mine, size_t bytes, void* all) override {
    traffic_->gathered += bytes * static_cast<size_t>(ranks().size);
    inner_.AllGatherBlocks(mine, bytes, all);
  }
  void Barrier() override { inner_.Barrier(); }
  std::unique_ptr<Communicator> Duplicate(const std::string& name) override {
    return Wrap(inner_.Duplicate(name));
  }
  std::unique_ptr<Communicator> Split(const std::string& name,
                                      const std::vector<int>& members) override {
    return Wrap(inner_.Split(name, members));
  }

 private:
  CountingCommunicator(std::unique_ptr<Communicator> owned, std::shared_ptr<Traffic> traffic)
      : owned_(std::move(owned)), inner_(*owned_), traffic_(std::move(traffic)) {}
  std::unique_ptr<Communicator> Wrap(std::unique_ptr<Communicator> channel) const {
    return std::unique_ptr<Communicator>(new CountingCommunicator(std::move(channel), traffic_));
  }

  const std::unique_ptr<Communicator> owned_;
  Communicator& inner_;
  const std::shared_ptr<Traffic> traffic_;
};

}  // namespace det::trial::testing

#endif  // TRIAL_API_CPP_TORCH_TESTING_COUNTING_COMMUNICATOR_H_
