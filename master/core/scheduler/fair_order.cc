// Dominant Resource Fairness (Ghodsi et al., NSDI 2011) over a tree of workspaces, their users and
// their jobs, as in H-DRF (Bhattacharya et al., SoCC 2013): on each level the waiting child with
// the smallest share is next. Usages are in PoolState::tree; a round visits only the branches whose
// turn comes.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "master/core/scheduler/fair_tree.h"
#include "master/core/scheduler/order.h"
#include "master/core/scheduler/registry.h"

namespace det::scheduler {
namespace {

// A heap of which only the first element changes. The shares are stored together, because they
// decide most comparisons without a cache miss.
template <class Node>
class Heap {
 public:
  bool empty() const { return entries_.empty(); }
  Node* top() const { return entries_.front().node; }
  void Add(Node* node) { entries_.push_back({node->branch->share, node}); }
  void Make() { std::make_heap(entries_.begin(), entries_.end(), Later); }
  void Pop() {
    std::pop_heap(entries_.begin(), entries_.end(), Later);
    entries_.pop_back();
  }
  // Restores the heap after the key of the first element increased.
  void Sift() {
    const Entry first{top()->branch->share, top()};
    size_t i = 0;
    for (size_t child = 1; child < entries_.size(); child = 2 * i + 1) {
      if (child + 1 < entries_.size() && Later(entries_[child], entries_[child + 1])) ++child;
      if (!Later(first, entries_[child])) break;
      entries_[i] = entries_[child];
      i = child;
    }
    entries_[i] = first;
  }

 private:
  struct Entry {
    double share = 0;
    Node* node = nullptr;
  };
  static bool Later(const Entry& a, const Entry& b) {
    return a.share != b.share ? b.share < a.share : b.node->GoesBefore(*a.node);
  }
  std::vector<Entry> entries_;
};

// The waiting jobs of a user. Each level of the tree is built when its turn comes.
struct JobNode {
  JobBranch* branch = nullptr;
  absl::InlinedVector<QueueCursor, 1> cursors;
  GangState* next = nullptr;
  OrderKey key;

  JobNode(JobBranch& job, const PoolState& pool) : branch(&job) {
    for (const auto& queue : job.job->queues) {
      if (queue->listed && queue->gang_class->pool == &pool && !queue->gang_class->done) {
        cursors.emplace_back(*queue);
      }
    }
  }
  // Finds the next gang; returns false if there is none.
  bool Settle() {
    next = nullptr;
    if (IsClosed(*branch->job)) return false;
    for (QueueCursor& cursor : cursors) {
      cursor.Skip();
      if (cursor.done() || cursor.queue().gang_class->done) continue;
      const OrderKey& other = cursor.key();
      if (next != nullptr && !(other < key)) continue;
      next = cursor.gang();
      key = other;
    }
    return next != nullptr;
  }
  void Advance() {
    for (QueueCursor& cursor : cursors) {
      if (!cursor.done() && cursor.gang() == next) return cursor.Advance();
    }
  }
  // Orders children with equal shares.
  bool GoesBefore(const JobNode& other) const { return key < other.key; }
};

template <class OwnersBranch, class Child>
struct OwnerNode {
  OwnersBranch* branch = nullptr;
  bool open = false;
  std::vector<Child> nodes;  // owners by name, which decides between equal shares
  Heap<Child> children;      // those of `nodes` that may have waiting gangs

  explicit OwnerNode(OwnersBranch& owner) : branch(&owner) {}
  // Orders children with equal shares.
  bool GoesBefore(const OwnerNode& other) const { return this < &other; }
};
using UserNode = OwnerNode<UserBranch, JobNode>;
using WorkspaceNode = OwnerNode<WorkspaceBranch, UserNode>;

class FairOrder : public Order {
 public:
  explicit FairOrder(PoolState& pool) : pool_(&pool) {
    for (const auto& [shape, gang_class] : pool.classes) {
      if (!gang_class->done) live_.push_back(gang_class.get());
    }
    pool.tree.UpdateShares(pool.Total());
    if (live_.empty()) return;
    nodes_.reserve(pool.tree.workspaces().size());
    for (const auto& [owner, branch] : pool.tree.workspaces()) {
      heap_.Add(&nodes_.emplace_back(*branch));
    }
    heap_.Make();
  }

  GangState* Next() override {
    while (!heap_.empty()) {
      while (!live_.empty() && live_.back()->done) live_.pop_back();
      if (live_.empty()) return nullptr;
      WorkspaceNode& workspace = *heap_.top();
      if (!workspace.open) Open(workspace);
      UserNode& user = *workspace.children.top();
      if (!user.open) Open(user);
      if (user.children.empty()) {
        PopUser();
        continue;
      }
      JobNode& job = *user.children.top();
      const GangState* before = job.next;
      if (!job.Settle()) {
        PopJob();
      } else if (job.next == before) {
        return job.next;
      } else {
        user.children.Sift();
      }
    }
    return nullptr;
  }

  void Advance() override {
    WorkspaceNode& workspace = *heap_.top();
    UserNode& user = *workspace.children.top();
    JobNode& job = *user.children.top();
    const bool started = job.next->fresh;
    if (started) {
      for (Branch* branch : {static_cast<Branch*>(job.branch), static_cast<Branch*>(user.branch),
                             static_cast<Branch*>(workspace.branch)}) {
        branch->share = DominantShare(branch->usage, pool_->tree.total()) / branch->weight;
      }
    } else {
      job.Advance();
    }
    if (!job.Settle()) return PopJob();
    user.children.Sift();
    if (!started) return;
    workspace.children.Sift();
    heap_.Sift();
  }

  Place GetPlace(const GangState& gang) const override {
    Place place;
    place.workspace = gang.job->job.workspace;
    place.user = gang.job->job.user;
    place.position = gang.job->job.position;
    place.submitted = gang.gang->submitted;
    place.id = gang.gang->id.value();
    place.job_share = gang.branch->share;
    place.user_share = gang.branch->user->share;
    place.workspace_share = gang.branch->user->workspace->share;
    return place;
  }

 private:
  static void Open(WorkspaceNode& workspace) {
    workspace.open = true;
    workspace.nodes.reserve(workspace.branch->users.size());
    for (const auto& [owner, branch] : workspace.branch->users) {
      workspace.children.Add(&workspace.nodes.emplace_back(*branch));
    }
    workspace.children.Make();
  }
  void Open(UserNode& user) const {
    user.open = true;
    user.nodes.reserve(user.branch->jobs.size());
    for (const auto& branch : user.branch->jobs) {
      JobNode& job = user.nodes.emplace_back(*branch, *pool_);
      if (job.Settle()) user.children.Add(&job);
    }
    user.children.Make();
  }
  // The first job has no waiting gang left.
  void PopJob() {
    UserNode& user = *heap_.top()->children.top();
    user.children.Pop();
    if (user.children.empty()) return PopUser();
    heap_.top()->children.Sift();
    heap_.Sift();
  }
  void PopUser() {
    WorkspaceNode& workspace = *heap_.top();
    workspace.children.Pop();
    if (workspace.children.empty()) {
      heap_.Pop();
    } else {
      heap_.Sift();
    }
  }

  PoolState* pool_;
  std::vector<const GangClass*> live_;  // not done; may contain done ones
  std::vector<WorkspaceNode> nodes_;
  Heap<WorkspaceNode> heap_;  // those of `nodes_` that may have waiting gangs
};

}  // namespace

std::unique_ptr<Order> MakeFairOrder(PoolState& pool) { return std::make_unique<FairOrder>(pool); }

}  // namespace det::scheduler
