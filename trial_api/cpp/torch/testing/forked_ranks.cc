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

#include "base/check.h"
#include "trial_api/cpp/core/error.h"

namespace det::trial::testing {
namespace {

constexpr size_t kChannels = 4;
constexpr size_t kSlotBytes = size_t{1} << 16;
constexpr int kMaxRanks = 8;

struct Channel {
  pthread_barrier_t barrier;
  alignas(64) char slots[kMaxRanks][kSlotBytes];
};

struct Region {
  Channel channels[kChannels];
};

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
      : region_(region), ranks_(ranks), used_(std::move(used)) {
    DET_CHECK(*used_ < kChannels) << "more than " << kChannels << " channels";
    channel_ = &region_->channels[(*used_)++];
  }

  const Ranks& ranks() const override { return ranks_; }

  void AllReduceSum(void* data, size_t count, DType dtype) override {
    const size_t width = dtype == DType::kUint8                               ? 1
                         : dtype == DType::kFloat32 || dtype == DType::kInt32 ? 4
                                                                              : 8;
    for (size_t done = 0; done < count * width; done += kSlotBytes) {
      char* const part = static_cast<char*>(data) + done;
      const size_t bytes = std::min(kSlotBytes, count * width - done);
      std::memcpy(channel_->slots[ranks_.rank], part, bytes);
      Barrier();
      SumPart(part, bytes, dtype);
      Barrier();
    }
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

  void Barrier() override { pthread_barrier_wait(&channel_->barrier); }

  std::unique_ptr<Communicator> Duplicate(const std::string&) override {
    return std::make_unique<SharedMemoryCommunicator>(region_, ranks_, used_);
  }

 private:
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
    }
  }

  Region* const region_;
  const Ranks ranks_;
  const std::shared_ptr<size_t> used_;
  Channel* channel_ = nullptr;
};

Region* MakeRegion(int size) {
  void* const memory =
      mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  DET_CHECK(memory != MAP_FAILED);
  Region* const region = static_cast<Region*>(memory);
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  for (Channel& channel : region->channels) {
    pthread_barrier_init(&channel.barrier, &shared, static_cast<unsigned>(size));
  }
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

}  // namespace

std::vector<std::string> RunRanks(int size, const std::function<std::string(Communicator&)>& body) {
  DET_CHECK(size <= kMaxRanks);
  Region* const region = MakeRegion(size);
  std::vector<int> outputs;
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    int ends[2];
    DET_CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    DET_CHECK(child >= 0);
    if (child == 0) RunChild(region, {rank, size, rank, size, 0, 1}, ends[1], body);
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
