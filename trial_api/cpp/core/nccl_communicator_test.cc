// Tests of NcclCommunicator with a fake API that sums in host memory and can lose a peer, and with
// NCCL if there is a GPU.
#include "trial_api/cpp/core/nccl_communicator.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/exchange.h"
#include "trial_api/cpp/core/gloo_communicator.h"
#include "trial_api/cpp/core/nccl_api.h"
#include "trial_api/cpp/core/single_communicator.h"
#include "trial_api/cpp/core/testing.h"

#ifdef DET_CUDA
#include <cuda_runtime.h>
#endif

namespace det::core {
namespace {

thread_local int used_device = -1;

// An operation in which all ranks take part.
struct Operation {
  enum class Kind { kAllReduce, kReduce, kBroadcast, kAllGather };
  struct Part {
    const void* mine;
    void* data;
  };
  Kind kind;
  size_t count = 0;  // elements, or bytes
  DType dtype = DType::kUint8;
  int root = 0;
  std::map<int, Part> parts;  // by rank
  bool done = false;
};

struct Group {
  int size = 0;
  int joined = 0;
  std::string failure;  // message of NCCL
  bool own = false;     // whether it is this rank's own failure
  std::map<size_t, std::shared_ptr<Operation>> operations;
};

struct End {  // a Comm
  std::shared_ptr<Group> group;
  int rank = 0;
  size_t next = 0;
};

struct Line {  // a Stream
  std::vector<std::shared_ptr<Operation>> operations;
  bool follows = false;  // whether it waits for the computation since the last operation
};

template <class T>
void SumParts(const Operation& operation) {
  std::vector<T> sum(operation.count, T(0));
  for (const auto& [rank, part] : operation.parts) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<const T*>(part.mine)[i];
  }
  for (const auto& [rank, part] : operation.parts) {
    const bool gets = operation.kind == Operation::Kind::kAllReduce || rank == operation.root;
    if (gets) std::memcpy(part.data, sum.data(), sum.size() * sizeof(T));
  }
}

void Compute(Operation& operation) {
  const size_t bytes = operation.count * GetElementSize(operation.dtype);
  switch (operation.kind) {
    case Operation::Kind::kAllReduce:
    case Operation::Kind::kReduce:
      if (operation.dtype == DType::kFloat32) SumParts<float>(operation);
      if (operation.dtype == DType::kInt64) SumParts<int64_t>(operation);
      break;
    case Operation::Kind::kBroadcast:
      for (const auto& [rank, part] : operation.parts) {
        std::memmove(part.data, operation.parts.at(operation.root).mine, bytes);
      }
      break;
    case Operation::Kind::kAllGather:
      for (const auto& [to, whole] : operation.parts) {
        for (const auto& [from, part] : operation.parts) {
          std::memcpy(static_cast<char*>(whole.data) + static_cast<size_t>(from) * bytes, part.mine,
                      bytes);
        }
      }
      break;
  }
  operation.done = true;
}

// Shared by all ranks, which are threads.
class FakeNccl final : public NcclApi {
 public:
  // No later operation completes; NCCL reports the loss, or nothing.
  void Lose(const std::string& words, bool own = false) {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    for (const auto& [id, group] : groups_) {
      group->failure = words;
      group->own = own;
    }
  }
  std::atomic<int> aborted = 0;
  std::atomic<int> left = 0;
  std::atomic<int> unfollowed = 0;  // number of operations that did not wait for the computation
  std::atomic<int> elsewhere = 0;   // number of calls on another rank's device

  void UseDevice(int device) override { used_device = device; }
  Id MakeId() override {
    const std::lock_guard lock(mutex_);
    Id id = {};
    std::snprintf(id.bytes, sizeof id.bytes, "%d", ++ids_);
    return id;
  }
  Comm Join(const Id& id, int rank, int size) override {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Group>& group = groups_[id.bytes];
    if (!group) group = std::make_shared<Group>();
    group->size = size;
    ++group->joined;
    return new End{group, rank};
  }
  State Check(Comm comm, std::string* words) override {
    const std::lock_guard lock(mutex_);
    const Group& group = *ToEnd(comm).group;
    *words = group.failure;
    if (!group.failure.empty()) return group.own ? State::kFailed : State::kPeerLost;
    return group.joined == group.size ? State::kReady : State::kBusy;
  }
  void Leave(Comm) override {}
  void Free(Comm comm) override {
    ++left;
    delete static_cast<End*>(comm);
  }
  void Abort(Comm comm) override {
    ++aborted;
    delete static_cast<End*>(comm);
  }
  Stream MakeStream() override { return new Line; }
  void FreeStream(Stream stream) override { delete static_cast<Line*>(stream); }
  void FollowComputation(Stream stream) override { static_cast<Line*>(stream)->follows = true; }
  bool Finished(Stream stream) override {
    const std::lock_guard lock(mutex_);
    for (const auto& operation : static_cast<Line*>(stream)->operations) {
      if (!operation->done) return false;
    }
    return true;
  }
  void AllReduceSum(void* data, size_t count, DType dtype, Comm comm, Stream stream) override {
    Add({Operation::Kind::kAllReduce, count, dtype}, {data, data}, comm, stream);
  }
  void ReduceSum(void* data, size_t count, DType dtype, int root, Comm comm,
                 Stream stream) override {
    Add({Operation::Kind::kReduce, count, dtype, root}, {data, data}, comm, stream);
  }
  void Broadcast(void* data, size_t bytes, int root, Comm comm, Stream stream) override {
    Add({Operation::Kind::kBroadcast, bytes, DType::kUint8, root}, {data, data}, comm, stream);
  }
  void AllGather(const void* mine, size_t bytes, void* all, Comm comm, Stream stream) override {
    Add({Operation::Kind::kAllGather, bytes}, {mine, all}, comm, stream);
  }

 private:
  static End& ToEnd(Comm comm) { return *static_cast<End*>(comm); }

  void Add(const Operation& added, const Operation::Part& part, Comm comm, Stream stream) {
    const std::lock_guard lock(mutex_);
    End& end = ToEnd(comm);
    Line& line = *static_cast<Line*>(stream);
    if (!line.follows) ++unfollowed;
    line.follows = false;
    std::shared_ptr<Operation>& operation = end.group->operations[end.next++];
    if (!operation) operation = std::make_shared<Operation>(added);
    operation->parts[end.rank] = part;
    line.operations.push_back(operation);
    if (used_device < 0) ++elsewhere;
    if (!lost_ && static_cast<int>(operation->parts.size()) == end.group->size) Compute(*operation);
  }

  std::mutex mutex_;
  int ids_ = 0;
  bool lost_ = false;
  std::map<std::string, std::shared_ptr<Group>> groups_;
};

// Runs `body` once per rank, each on a thread, with a host communicator.
void RunThreads(int size, const std::function<void(std::unique_ptr<Communicator>)>& body) {
  const auto dir = base::TempDir::Create();
  ASSERT_TRUE(dir.ok());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const auto exchange = MakeDirectoryExchange(dir->path(), std::chrono::seconds(60));
      body(size == 1 ? MakeSingleCommunicator()
                     : ConnectGloo(OneMachine(rank, size), "127.0.0.1", *exchange));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

template <class T>
void ExpectSums(Communicator& communicator, DType dtype, size_t count) {
  const Ranks& ranks = communicator.ranks();
  const T sum = static_cast<T>(ranks.size * (ranks.size + 1) / 2);
  std::vector<T> values(count, static_cast<T>(ranks.rank + 1));
  communicator.AllReduceSum(values.data(), count, dtype);
  EXPECT_EQ(values, std::vector<T>(count, sum));
  values.assign(count, static_cast<T>(ranks.rank + 1));
  communicator.ReduceSum(values.data(), count, dtype, ranks.size - 1);
  if (ranks.rank == ranks.size - 1) {
    EXPECT_EQ(values, std::vector<T>(count, sum));
  }
}

void ExpectContract(Communicator& communicator) {
  const Ranks& ranks = communicator.ranks();
  EXPECT_TRUE(communicator.on_device());
  for (const size_t count : {0, 1, 1001}) {
    ExpectSums<float>(communicator, DType::kFloat32, count);
    ExpectSums<int64_t>(communicator, DType::kInt64, count);
  }
  int value = ranks.rank == ranks.size - 1 ? 42 : 0;
  communicator.Broadcast(&value, sizeof value, ranks.size - 1);
  EXPECT_EQ(value, 42);
  std::vector<int> all(static_cast<size_t>(ranks.size));
  communicator.AllGatherBlocks(&ranks.rank, sizeof(int), all.data());
  for (int rank = 0; rank < ranks.size; ++rank) EXPECT_EQ(all[static_cast<size_t>(rank)], rank);
  const std::vector<std::string> texts = communicator.AllGather(std::to_string(ranks.rank));
  EXPECT_EQ(texts.back(), std::to_string(ranks.size - 1));
  communicator.Barrier();
}

// Returns the error of rank 0 for an operation in which rank 1 takes no part.
std::string GetMessage(Communicator& communicator) {
  float value = 1;
  try {
    communicator.AllReduceSum(&value, 1, DType::kFloat32);
  } catch (const PeerGone& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// NCCL waits forever; a process that ends closes its connections of the host's channel. This test
// comes first, because it forks.
TEST(NcclCommunicatorTest, ThrowsPeerGone_WhenHostChannelLosesPeer) {
  const auto dir = base::TempDir::Create();
  ASSERT_TRUE(dir.ok());
  // Each process has a separate fake API, so the ranks never meet in it.
  class Silent final : public NcclApi {
   public:
    void UseDevice(int) override {}
    Id MakeId() override { return {}; }
    Comm Join(const Id&, int, int) override { return this; }
    State Check(Comm, std::string*) override { return State::kReady; }
    void Leave(Comm) override {}
    void Free(Comm) override {}
    void Abort(Comm) override { aborted = true; }
    Stream MakeStream() override { return this; }
    void FreeStream(Stream) override {}
    void FollowComputation(Stream) override {}
    bool Finished(Stream) override { return false; }
    void AllReduceSum(void*, size_t, DType, Comm, Stream) override {}
    void ReduceSum(void*, size_t, DType, int, Comm, Stream) override {}
    void Broadcast(void*, size_t, int, Comm, Stream) override {}
    void AllGather(const void*, size_t, void*, Comm, Stream) override {}
    bool aborted = false;
  };
  const std::vector<int> ends = RunRanks(2, [&](const Ranks& ranks) {
    const auto exchange = MakeDirectoryExchange(dir->path(), std::chrono::seconds(60));
    const auto host = ConnectGloo(ranks, "127.0.0.1", *exchange);
    const auto api = std::make_shared<Silent>();
    const auto communicator = ConnectNccl(*host, ranks.rank, api);
    host->Barrier();
    if (ranks.rank == 1) ::raise(SIGKILL);
    const std::string message = GetMessage(*communicator);
    std::fprintf(stderr, "rank 0: %s\n", message.c_str());
    const bool named = message.find("rank 1 is gone") != std::string::npos;
    return named && message.rfind("all-reduce: ", 0) == 0 && api->aborted ? 0 : 1;
  });
  EXPECT_EQ(ends, (std::vector<int>{0, -SIGKILL}));
}

TEST(NcclCommunicatorTest, PerformsAllOperations) {
  for (const int size : {1, 2, 3}) {
    const auto api = std::make_shared<FakeNccl>();
    RunThreads(size, [&](std::unique_ptr<Communicator> host) {
      const int rank = host->ranks().rank;
      const auto communicator = ConnectNccl(*host, rank, api);
      ExpectContract(*communicator);
      const auto second = communicator->Duplicate("second");
      ExpectContract(*second);
      const auto alone = communicator->Split("alone", {rank});
      EXPECT_EQ(alone->ranks().size, 1);
      ExpectContract(*alone);
      // Another thread must set the device, too.
      std::thread([&] { ExpectSums<float>(*second, DType::kFloat32, 9); }).join();
      host->Barrier();
    });
    EXPECT_EQ(api->unfollowed, 0);
    EXPECT_EQ(api->elsewhere, 0);
    EXPECT_EQ(api->aborted, 0);
    EXPECT_EQ(api->left, 3 * size);
  }
}

TEST(NcclCommunicatorTest, ThrowsPeerGone_WhenNcclLosesPeer) {
  const auto api = std::make_shared<FakeNccl>();
  RunThreads(2, [&](std::unique_ptr<Communicator> host) {
    const auto communicator = ConnectNccl(*host, host->ranks().rank, api);
    host->Barrier();
    if (host->ranks().rank == 1) {
      api->Lose("remote process exited");
    } else {
      EXPECT_EQ(GetMessage(*communicator), "all-reduce: remote process exited");
      EXPECT_EQ(GetMessage(*communicator), "all-reduce: remote process exited") << "again";
      EXPECT_EQ(api->aborted, 1);
    }
    host->Barrier();
  });
}

// PeerGone would not be reported as the cause of the failure.
TEST(NcclCommunicatorTest, ThrowsError_WhenOwnRankFails) {
  const auto api = std::make_shared<FakeNccl>();
  RunThreads(1, [&](std::unique_ptr<Communicator> host) {
    const auto communicator = ConnectNccl(*host, 0, api);
    api->Lose("unhandled cuda error", /*own=*/true);
    for (int again = 0; again < 2; ++again) {
      float value = 1;
      try {
        communicator->AllReduceSum(&value, 1, DType::kFloat32);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const PeerGone& error) {
        ADD_FAILURE() << "a peer's: " << error.what();
      } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "all-reduce: unhandled cuda error");
      }
    }
    EXPECT_EQ(api->aborted, 1);
  });
}

TEST(NcclCommunicatorTest, WorksOnAGpu) {
#ifdef DET_CUDA
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) {
    // NCCL allows each device only once in a group, so there are several groups of one on the
    // device.
    const auto host = MakeSingleCommunicator();
    const auto first = ConnectNccl(*host, 0, MakeNcclApi());
    const auto second = first->Duplicate("second");
    float* data = nullptr;
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data), 2 * 1000 * sizeof(float)), cudaSuccess);
    std::vector<float> numbers(1000), back(1000);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    for (Communicator* communicator : {first.get(), second.get()}) {
      const size_t bytes = numbers.size() * sizeof(float);
      ASSERT_EQ(cudaMemcpy(data, numbers.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
      communicator->AllReduceSum(data, numbers.size(), DType::kFloat32);
      communicator->Broadcast(data, bytes, 0);
      communicator->AllGatherBlocks(data, bytes, data + numbers.size());
      ASSERT_EQ(cudaMemcpy(back.data(), data + numbers.size(), bytes, cudaMemcpyDeviceToHost),
                cudaSuccess);
      EXPECT_EQ(back, numbers);
    }
    cudaFree(data);
    return;
  }
#endif
  std::printf("skipped: no GPU\n");
}

}  // namespace
}  // namespace det::core
