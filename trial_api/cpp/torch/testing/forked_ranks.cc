#include "trial_api/cpp/torch/testing/forked_ranks.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <set>
#include <utility>

#include "base/check.h"
#include "trial_api/cpp/core/error.h"
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

namespace det::trial::testing {
namespace {

constexpr size_t kChannels = 24;
constexpr size_t kSlotBytes = size_t{1} << 16;
constexpr int kMaxRanks = 8;

struct Channel {
  pthread_barrier_t barrier;
  alignas(64) char slots[kMaxRanks][kSlotBytes];
};

struct Region {
  Channel channels[kChannels];
};

void InitBarrier(Channel& channel, int size) {
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&channel.barrier, &shared, static_cast<unsigned>(size));
}

template <class T>
void SumSlots(const Channel& channel, int size, void* data, size_t bytes) {
  T* out = static_cast<T*>(data);
  for (size_t i = 0; i < bytes / sizeof(T); ++i) {
    T sum = 0;
    for (int r = 0; r < size; ++r) sum += reinterpret_cast<const T*>(channel.slots[r])[i];
    out[i] = sum;
  }
}

class SharedMemoryCommunicator : public Communicator {
 public:
  SharedMemoryCommunicator(Region* region, const Ranks& ranks, std::shared_ptr<size_t> used)
      : SharedMemoryCommunicator(region, ranks, used, Take(*used, 1)) {}
  SharedMemoryCommunicator(Region* region, const Ranks& ranks, std::shared_ptr<size_t> used,
                           size_t channel)
      : region_(region),
        ranks_(ranks),
        used_(std::move(used)),
        channel_(&region_->channels[channel]) {}

  const Ranks& ranks() const override { return ranks_; }

  void AllReduceSum(void* data, size_t count, DType dtype) override {
    const size_t width = GetElementSize(dtype);
    for (size_t done = 0; done < count * width; done += kSlotBytes) {
      char* const part = static_cast<char*>(data) + done;
      const size_t bytes = std::min(kSlotBytes, count * width - done);
      std::memcpy(channel_->slots[ranks_.rank], part, bytes);
      Barrier();
      SumPart(part, bytes, dtype);
      Barrier();
    }
  }

  void ReduceSum(void* data, size_t count, DType dtype, int root) override {
    std::string unspoiled(static_cast<char*>(data), count * GetElementSize(dtype));
    AllReduceSum(ranks_.rank == root ? data : unspoiled.data(), count, dtype);
  }

  void Broadcast(void* data, size_t bytes, int root) override {
    for (size_t done = 0; done < bytes; done += kSlotBytes) {
      char* const part = static_cast<char*>(data) + done;
      const size_t size = std::min(kSlotBytes, bytes - done);
      if (ranks_.rank == root) std::memcpy(channel_->slots[root], part, size);
      Barrier();
      if (ranks_.rank != root) std::memcpy(part, channel_->slots[root], size);
      Barrier();
    }
  }

  std::vector<std::string> AllGather(const std::string& mine) override {
    DET_CHECK(mine.size() + sizeof(size_t) <= kSlotBytes) << "text too long for a test";
    const size_t length = mine.size();
    std::memcpy(channel_->slots[ranks_.rank], &length, sizeof length);
    std::memcpy(channel_->slots[ranks_.rank] + sizeof length, mine.data(), length);
    Barrier();
    std::vector<std::string> all;
    for (int r = 0; r < ranks_.size; ++r) {
      size_t size = 0;
      std::memcpy(&size, channel_->slots[r], sizeof size);
      all.emplace_back(channel_->slots[r] + sizeof size, size);
    }
    Barrier();
    return all;
  }

  void AllGatherBlocks(const void* mine, size_t bytes, void* all) override {
    for (int root = 0; root < ranks_.size; ++root) {
      char* const block = static_cast<char*>(all) + static_cast<size_t>(root) * bytes;
      if (root == ranks_.rank) std::copy_n(static_cast<const char*>(mine), bytes, block);
      Broadcast(block, bytes, root);
    }
  }

  void Barrier() override { pthread_barrier_wait(&channel_->barrier); }

  std::unique_ptr<Communicator> Duplicate(const std::string&) override {
    return std::make_unique<SharedMemoryCommunicator>(region_, ranks_, used_);
  }

  std::unique_ptr<Communicator> Split(const std::string&,
                                      const std::vector<int>& members) override {
    std::set<std::string> groups;
    const std::string own = std::to_string(members.front());
    for (const std::string& first : AllGather(own)) groups.insert(first);
    const auto place = static_cast<size_t>(std::distance(groups.begin(), groups.find(own)));
    const size_t channel = Take(*used_, groups.size()) + place;
    Ranks ranks;
    ranks.size = static_cast<int>(members.size());
    ranks.rank =
        static_cast<int>(std::find(members.begin(), members.end(), ranks_.rank) - members.begin());
    if (ranks.rank == 0) InitBarrier(region_->channels[channel], ranks.size);
    Barrier();
    return std::make_unique<SharedMemoryCommunicator>(region_, ranks, used_, channel);
  }

 private:
  // Returns the first of `count` new channels.
  static size_t Take(size_t& used, size_t count) {
    DET_CHECK(used + count <= kChannels) << "more than " << kChannels << " channels";
    return std::exchange(used, used + count);
  }

  void SumPart(void* part, size_t bytes, DType dtype) {
    switch (dtype) {
      case DType::kFloat32:
        return SumSlots<float>(*channel_, ranks_.size, part, bytes);
      case DType::kFloat64:
        return SumSlots<double>(*channel_, ranks_.size, part, bytes);
      case DType::kInt32:
        return SumSlots<int32_t>(*channel_, ranks_.size, part, bytes);
      case DType::kInt64:
        return SumSlots<int64_t>(*channel_, ranks_.size, part, bytes);
      case DType::kUint8:
        return SumSlots<uint8_t>(*channel_, ranks_.size, part, bytes);
      case DType::kFloat16:
        return SumSlots<c10::Half>(*channel_, ranks_.size, part, bytes);
      case DType::kBFloat16:
        return SumSlots<c10::BFloat16>(*channel_, ranks_.size, part, bytes);
    }
  }

  Region* const region_;
  const Ranks ranks_;
  const std::shared_ptr<size_t> used_;
  Channel* const channel_;
};

Region* MakeRegion(int size) {
  void* const memory =
      mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  DET_CHECK(memory != MAP_FAILED);
  Region* const region = static_cast<Region*>(memory);
  for (Channel& channel : region->channels) InitBarrier(channel, size);
  return region;
}

[[noreturn]] void RunChild(Region* region, const Ranks& ranks, int output,
                           const std::function<std::string(Communicator&)>& body) {
  std::string result;
  try {
    SharedMemoryCommunicator communicator(region, ranks, std::make_shared<size_t>(0));
    result = body(communicator);
  } catch (const std::exception& error) {
    result = std::string("error: ") + error.what();
  }
  for (size_t done = 0; done < result.size();) {
    const ssize_t written = write(output, result.data() + done, result.size() - done);
    DET_CHECK(written > 0);
    done += static_cast<size_t>(written);
  }
  std::_Exit(0);
}

Ranks MakeRanks(int rank, int size, int per_node) {
  if (per_node == 0) return {rank, size, rank, size, 0, 1};
  DET_CHECK(size % per_node == 0);
  return {rank, size, rank % per_node, per_node, rank / per_node, size / per_node};
}

}  // namespace

std::vector<std::string> RunRanks(int size, const std::function<std::string(Communicator&)>& body,
                                  int per_node) {
  DET_CHECK(size <= kMaxRanks);
  Region* const region = MakeRegion(size);
  std::vector<int> outputs;
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    int ends[2];
    DET_CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    DET_CHECK(child >= 0);
    if (child == 0) RunChild(region, MakeRanks(rank, size, per_node), ends[1], body);
    close(ends[1]);
    outputs.push_back(ends[0]);
    children.push_back(child);
  }
  std::vector<std::string> results;
  for (int rank = 0; rank < size; ++rank) {
    std::string result;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(outputs[rank], buffer, sizeof buffer)) > 0;) {
      result.append(buffer, static_cast<size_t>(n));
    }
    close(outputs[rank]);
    int status = 0;
    waitpid(children[rank], &status, 0);
    if (!WIFEXITED(status)) result += "error: killed by signal " + std::to_string(WTERMSIG(status));
    results.push_back(result);
  }
  munmap(region, sizeof(Region));
  return results;
}

}  // namespace det::trial::testing
