#include "trial_api/cpp/core/gloo_communicator.h"

#include <signal.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/single_communicator.h"
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/types.h>

namespace det::core {
namespace {

constexpr std::chrono::minutes kConnectTimeout(2);
// A long timeout, because a rank may be busy with other work such as a checkpoint; the end of a
// rank closes its connections and is noticed at once.
constexpr std::chrono::hours kOperationTimeout(24);

// Gloo requests the addresses of peers one by one, under their ranks; one exchange answers all of
// these requests. It uses other keys to count the ranks of its machine, which only its statistics
// need: these are answered without the other ranks.
class ExchangeStore final : public gloo::rendezvous::Store {
 public:
  ExchangeStore(Exchange& exchange, std::string key, const Ranks& ranks)
      : exchange_(exchange), key_(std::move(key)), ranks_(ranks) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    if (IsRank(key)) mine_.assign(data.begin(), data.end());
  }
  std::vector<char> get(const std::string& key) override {
    if (!IsRank(key)) return {};
    if (all_.empty()) all_ = exchange_.AllGather(key_, ranks_, mine_);
    const std::string& data = all_.at(std::stoul(key));
    return {data.begin(), data.end()};
  }
  // Does not wait; get() does.
  void wait(const std::vector<std::string>&) override {}

 private:
  static bool IsRank(const std::string& key) {
    return key.find_first_not_of("0123456789") == std::string::npos;
  }

  Exchange& exchange_;
  const std::string key_;
  const Ranks ranks_;
  std::string mine_;
  std::vector<std::string> all_;
};

// Exchanges the addresses of a second channel over the first one.
class ChannelExchange final : public Exchange {
 public:
  explicit ChannelExchange(Communicator& channel) : channel_(channel) {}
  std::vector<std::string> AllGather(const std::string&, const Ranks&,
                                     const std::string& mine) override {
    return channel_.AllGather(mine);
  }

 private:
  Communicator& channel_;
};

// Exchanges the addresses of a channel among some ranks over the channel of all ranks.
class GroupExchange final : public Exchange {
 public:
  GroupExchange(Communicator& channel, const std::vector<int>& members)
      : channel_(channel), members_(members) {}
  std::vector<std::string> AllGather(const std::string&, const Ranks&,
                                     const std::string& mine) override {
    const std::vector<std::string> all = channel_.AllGather(mine);
    std::vector<std::string> group;
    for (const int member : members_) group.push_back(all.at(static_cast<size_t>(member)));
    return group;
  }

 private:
  Communicator& channel_;
  const std::vector<int> members_;
};

// The upper half of a float32, a type that Gloo does not support.
struct BFloat16 {
  uint16_t bits;
};

float ToFloat(BFloat16 number) { return std::bit_cast<float>(uint32_t{number.bits} << 16); }

// Rounds to nearest, ties to even.
BFloat16 ToBFloat16(float number) {
  if (number != number) return {0x7fc0};
  const auto bits = std::bit_cast<uint32_t>(number);
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

template <class T>
void ComputeSum(void* out, const void* a, const void* b, size_t count) {
  gloo::sum<T>(out, a, b, count);
}
template <>
void ComputeSum<BFloat16>(void* out, const void* a, const void* b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    static_cast<BFloat16*>(out)[i] = ToBFloat16(ToFloat(static_cast<const BFloat16*>(a)[i]) +
                                                ToFloat(static_cast<const BFloat16*>(b)[i]));
  }
}

// Calls `function` with a value of the type `dtype`.
template <class Function>
void WithType(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::kFloat32:
      return function(float{});
    case DType::kFloat64:
      return function(double{});
    case DType::kInt32:
      return function(int32_t{});
    case DType::kInt64:
      return function(int64_t{});
    case DType::kUint8:
      return function(uint8_t{});
    case DType::kFloat16:
      return function(gloo::float16{});
    case DType::kBFloat16:
      return function(BFloat16{});
  }
}

std::shared_ptr<gloo::rendezvous::Context> ConnectAll(
    const Ranks& ranks, std::shared_ptr<gloo::transport::Device> device, const std::string& name,
    Exchange& exchange, std::chrono::milliseconds timeout) {
  ExchangeStore store(exchange, "gloo." + name, ranks);
  auto context = std::make_shared<gloo::rendezvous::Context>(ranks.rank, ranks.size);
  context->setTimeout(timeout);
  context->connectFullMesh(store, device);
  return context;
}

// Sums a few floats, such as the gradients of a small net, over separate connections.
//
// In Gloo's all-reduce, one thread polls the connections while another thread uses them. If a slot
// has one core, a packet makes the polling thread preempt the other and waste a time slice: 3 ms
// and more instead of 0.2 ms. In "sync mode" the calling thread reads and writes itself. It writes
// its whole part before it reads, and parts that connections cannot buffer (Linux starts with 64
// KiB) would make the ranks wait in a circle, so the size is limited.
class SmallSum {
 public:
  // For larger sums, the waits for each chunk cost as much as the polling.
  static constexpr size_t kMaxBytes = size_t{1} << 18;

  // `context` is connected and owned by this object.
  explicit SmallSum(const std::shared_ptr<gloo::Context>& context)
      : chunk_(kChunk), algorithm_(InSyncMode(context), {chunk_.data()}, kChunk) {}

  void Run(float* data, size_t count) {
    for (size_t begin = 0; begin < count; begin += kChunk) {
      const size_t part = std::min<size_t>(count - begin, kChunk);
      std::copy_n(data + begin, part, chunk_.begin());
      std::fill(chunk_.begin() + static_cast<ptrdiff_t>(part), chunk_.end(), 0.0F);
      algorithm_.run();
      std::copy_n(chunk_.begin(), part, data + begin);
    }
  }

 private:
  static constexpr int kChunk = (64 << 10) / sizeof(float);

  static const std::shared_ptr<gloo::Context>& InSyncMode(
      const std::shared_ptr<gloo::Context>& context) {
    for (int peer = 0; peer < context->size; ++peer) {
      if (peer != context->rank) context->getPair(peer)->setSync(true, /*busyPoll=*/false);
    }
    return context;
  }

  std::vector<float> chunk_;
  gloo::AllreduceHalvingDoubling<float> algorithm_;
};

class GlooCommunicator final : public Communicator {
 public:
  GlooCommunicator(const Ranks& ranks, std::shared_ptr<gloo::transport::Device> device,
                   const std::string& name, Exchange& exchange)
      : ranks_(ranks), device_(std::move(device)) {
    context_ = ConnectAll(ranks_, device_, name, exchange, kConnectTimeout);
    context_->setTimeout(kOperationTimeout);
    // In sync mode, the connect timeout also applies to operations.
    ChannelExchange first(*this);
    small_sum_ = std::make_unique<SmallSum>(
        ConnectAll(ranks_, device_, name + ".sums", first, kOperationTimeout));
    Barrier();  // No rank may write to connections that are not in sync mode yet.
  }

  const Ranks& ranks() const override { return ranks_; }

  void AllReduceSum(void* data, size_t count, DType dtype) override {
    if (count == 0) return;
    Try("all-reduce", [&] {
      if (dtype == DType::kFloat32 && count <= SmallSum::kMaxBytes) {
        return small_sum_->Run(static_cast<float*>(data), count);
      }
      WithType(dtype, [&](auto of_type) { Sum<decltype(of_type)>(data, count); });
    });
  }

  void ReduceSum(void* data, size_t count, DType dtype, int root) override {
    if (count == 0) return;
    Try("reduce", [&] {
      WithType(dtype, [&](auto of_type) {
        using T = decltype(of_type);
        gloo::ReduceOptions options(context_);
        options.setOutput(static_cast<T*>(data), count);
        options.setRoot(root);
        options.setReduceFunction(&ComputeSum<T>);
        gloo::reduce(options);
      });
    });
  }

  void Broadcast(void* data, size_t bytes, int root) override {
    if (bytes == 0) return;
    Try("broadcast", [&] {
      gloo::BroadcastOptions options(context_);
      options.setOutput(static_cast<char*>(data), bytes);
      options.setRoot(root);
      gloo::broadcast(options);
    });
  }

  std::vector<std::string> AllGather(const std::string& mine) override {
    std::vector<std::string> all(ranks_.size);
    Try("all-gather", [&] {
      std::vector<uint64_t> lengths = Gather<uint64_t>({mine.size()});
      const uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
      if (longest == 0) return;
      std::vector<char> padded(mine.begin(), mine.end());
      padded.resize(longest);
      const std::vector<char> texts = Gather<char>(padded);
      for (int i = 0; i < ranks_.size; ++i) {
        all[i].assign(texts.data() + i * longest, lengths[i]);
      }
    });
    return all;
  }

  void AllGatherBlocks(const void* mine, size_t bytes, void* all) override {
    if (bytes == 0) return;
    Try("all-gather", [&] {
      gloo::AllgatherOptions options(context_);
      options.setInput(static_cast<char*>(const_cast<void*>(mine)), bytes);
      options.setOutput(static_cast<char*>(all), bytes * static_cast<size_t>(ranks_.size));
      gloo::allgather(options);
    });
  }

  void Barrier() override {
    Try("barrier", [&] {
      gloo::BarrierOptions options(context_);
      gloo::barrier(options);
    });
  }

  std::unique_ptr<Communicator> Duplicate(const std::string& name) override {
    std::unique_ptr<Communicator> second;
    ChannelExchange exchange(*this);
    Try("opening a channel",
        [&] { second = std::make_unique<GlooCommunicator>(ranks_, device_, name, exchange); });
    return second;
  }

  std::unique_ptr<Communicator> Split(const std::string& name,
                                      const std::vector<int>& members) override {
    if (members.size() == 1) {
      AllGather("");  // Larger groups exchange their addresses.
      return MakeSingleCommunicator();
    }
    Ranks ranks;
    ranks.size = ranks.local_size = static_cast<int>(members.size());
    ranks.rank = ranks.local_rank =
        static_cast<int>(std::find(members.begin(), members.end(), ranks_.rank) - members.begin());
    std::unique_ptr<Communicator> group;
    GroupExchange exchange(*this, members);
    Try("opening a channel",
        [&] { group = std::make_unique<GlooCommunicator>(ranks, device_, name, exchange); });
    return group;
  }

 private:
  template <class T>
  void Sum(void* data, size_t count) {
    gloo::AllreduceOptions options(context_);
    options.setOutput(static_cast<T*>(data), count);
    options.setReduceFunction(&ComputeSum<T>);
    gloo::allreduce(options);
  }

  // Gathers `mine`, which has the same length on each rank.
  template <class T>
  std::vector<T> Gather(std::vector<T> mine) {
    std::vector<T> all(mine.size() * ranks_.size);
    gloo::AllgatherOptions options(context_);
    options.setInput(mine.data(), mine.size());
    options.setOutput(all.data(), all.size());
    gloo::allgather(options);
    return all;
  }

  template <class Function>
  void Try(const char* operation, Function function) {
    try {
      function();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& e) {
      throw PeerGone(std::string(operation) + ": " + DescribeLostPeers() + ": " + e.what());
    }
  }

  // Called after a failure. Each peer has two connections to this rank, and the one that failed may
  // have been closed before the one that is examined here; so it waits a moment.
  std::string DescribeLostPeers() {
    std::string lost;
    for (int attempts = 0; lost.empty() && attempts < 100; ++attempts) {
      if (attempts > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      lost = ListLostPeers();
    }
    if (lost.empty()) return "rank " + std::to_string(ranks_.rank) + " failed";
    return lost + (lost.find(',') == std::string::npos ? " is gone" : " are gone");
  }

  // A closed connection fails to receive.
  std::string ListLostPeers() {
    constexpr uint64_t kUnusedSlot = ~uint64_t{0};
    std::string lost;
    for (int peer = 0; peer < ranks_.size; ++peer) {
      if (peer == ranks_.rank) continue;
      char byte = 0;
      auto buffer = context_->createUnboundBuffer(&byte, 1);
      try {
        buffer->recv(peer, kUnusedSlot);
      } catch (const std::exception&) {
        lost += (lost.empty() ? "rank " : ", rank ") + std::to_string(peer);
      }
    }
    return lost;
  }

  const Ranks ranks_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<SmallSum> small_sum_;
};

}  // namespace

std::unique_ptr<Communicator> ConnectGloo(const Ranks& ranks, const std::string& address,
                                          Exchange& exchange) {
  // Gloo writes to closed connections. That must be an error, not a SIGPIPE, which would look like
  // the first failure.
  ::signal(SIGPIPE, SIG_IGN);
  try {
    auto device = gloo::transport::tcp::CreateDevice(address.c_str());
    return std::make_unique<GlooCommunicator>(ranks, std::move(device), "main", exchange);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw Error("connecting rank " + std::to_string(ranks.rank) + " of " +
                std::to_string(ranks.size) + " at " + address + ": " + e.what());
  }
}

}  // namespace det::core
