#include "trial_api/cpp/core/hierarchical_communicator.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace det::core {
namespace {

class HierarchicalCommunicator final : public Communicator {
 public:
  HierarchicalCommunicator(Communicator& all, std::unique_ptr<Communicator> owned,
                           const std::string& name)
      : owned_(std::move(owned)), all_(all) {
    std::map<std::string, std::vector<int>> nodes;
    const std::vector<std::string> of_rank = all_.AllGather(std::to_string(ranks().cross_rank));
    for (int rank = 0; rank < ranks().size; ++rank) {
      nodes[of_rank[static_cast<size_t>(rank)]].push_back(rank);
    }
    // With one node, or one rank per node, there is nothing to gain.
    if (nodes.size() == 1 || nodes.size() == of_rank.size()) return;
    std::vector<int> firsts;
    for (const auto& [node, members] : nodes) firsts.push_back(members.front());
    std::sort(firsts.begin(), firsts.end());
    within_ = all_.Split(name + ".node", nodes[std::to_string(ranks().cross_rank)]);
    // All ranks take part in the split: those that are not first on their node form groups of one.
    const bool first = within_->ranks().rank == 0;
    among_ = all_.Split(name + ".nodes", first ? firsts : std::vector<int>{ranks().rank});
  }

  const Ranks& ranks() const override { return all_.ranks(); }
  bool on_device() const override { return all_.on_device(); }

  void AllReduceSum(void* data, size_t count, DType dtype) override {
    if (within_ == nullptr) return all_.AllReduceSum(data, count, dtype);
    within_->ReduceSum(data, count, dtype, 0);
    // A group of one if this rank is not the first of its node.
    among_->AllReduceSum(data, count, dtype);
    within_->Broadcast(data, count * GetElementSize(dtype), 0);
  }
  void ReduceSum(void* data, size_t count, DType dtype, int root) override {
    all_.ReduceSum(data, count, dtype, root);
  }
  void Broadcast(void* data, size_t bytes, int root) override { all_.Broadcast(data, bytes, root); }
  std::vector<std::string> AllGather(const std::string& mine) override {
    return all_.AllGather(mine);
  }
  void AllGatherBlocks(const void* mine, size_t bytes, void* all) override {
    all_.AllGatherBlocks(mine, bytes, all);
  }
  void Barrier() override { all_.Barrier(); }

  std::unique_ptr<Communicator> Duplicate(const std::string& name) override {
    std::unique_ptr<Communicator> second = all_.Duplicate(name);
    Communicator& channel = *second;
    return std::make_unique<HierarchicalCommunicator>(channel, std::move(second), name);
  }
  std::unique_ptr<Communicator> Split(const std::string& name,
                                      const std::vector<int>& members) override {
    return all_.Split(name, members);
  }

 private:
  const std::unique_ptr<Communicator> owned_;  // owner of all_, in a duplicate
  Communicator& all_;
  std::unique_ptr<Communicator> within_;  // ranks of this node; null: sums are not split
  std::unique_ptr<Communicator> among_;   // the first ranks of the nodes
};

}  // namespace

std::unique_ptr<Communicator> MakeHierarchicalCommunicator(Communicator& all) {
  return std::make_unique<HierarchicalCommunicator>(all, nullptr, "hierarchy");
}

}  // namespace det::core
