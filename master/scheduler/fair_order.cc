// Dominant Resource Fairness (Ghodsi et al., NSDI 2011) over a tree of workspaces, their users and
// their jobs, as in H-DRF (Bhattacharya et al., SoCC 2013): on each level the child that waits and
// has the smallest share goes next. A tree is made for each round, of the jobs that wait.
#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "master/scheduler/books.h"
#include "master/scheduler/fair_share.h"
#include "master/scheduler/order.h"

namespace det::scheduler {
namespace {

// A heap whose first element alone changes.
template <class Node>
class Heap {
 public:
  bool empty() const { return nodes_.empty(); }
  Node* top() const { return nodes_.front(); }
  void Add(Node* node) { nodes_.push_back(node); }
  void Make() { std::make_heap(nodes_.begin(), nodes_.end(), Later); }
  void Pop() {
    std::pop_heap(nodes_.begin(), nodes_.end(), Later);
    nodes_.pop_back();
  }
  // The first one's key has grown.
  void Sift() {
    for (size_t i = 0;;) {
      size_t least = i;
      for (const size_t child : {2 * i + 1, 2 * i + 2}) {
        if (child < nodes_.size() && *nodes_[child] < *nodes_[least]) least = child;
      }
      if (least == i) return;
      std::swap(nodes_[i], nodes_[least]);
      i = least;
    }
  }

 private:
  static bool Later(const Node* a, const Node* b) { return *b < *a; }
  std::vector<Node*> nodes_;
};

std::string_view NameOf(const Owner* owner) {
  return owner == nullptr ? std::string_view() : std::string_view(owner->name);
}

struct JobNode {
  const JobState* job = nullptr;
  double share = 0;
  absl::InlinedVector<QueueCursor, 1> cursors;
  GangState* next = nullptr;
  OrderKey key;

  // Finds the next gang; false when there is none.
  bool Settle() {
    next = nullptr;
    if (IsClosed(*job)) return false;
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
  friend bool operator<(const JobNode& a, const JobNode& b) {
    return a.share != b.share ? a.share < b.share : a.key < b.key;
  }
};

struct UserNode {
  const Owner* owner = nullptr;
  Usage usage;
  double share = 0;
  Heap<JobNode> jobs;
  friend bool operator<(const UserNode& a, const UserNode& b) {
    return a.share != b.share ? a.share < b.share : NameOf(a.owner) < NameOf(b.owner);
  }
};

struct WorkspaceNode {
  const Owner* owner = nullptr;
  Usage usage;
  double share = 0;
  absl::flat_hash_map<const Owner*, std::unique_ptr<UserNode>> all_users;
  Heap<UserNode> users;
  friend bool operator<(const WorkspaceNode& a, const WorkspaceNode& b) {
    return a.share != b.share ? a.share < b.share : NameOf(a.owner) < NameOf(b.owner);
  }
};

class FairOrder : public Order {
 public:
  explicit FairOrder(PoolState& pool) : pool_(&pool), total_(pool.Total()) {
    for (const auto& [shape, gang_class] : pool.classes) {
      if (gang_class->done) continue;
      live_.push_back(gang_class.get());
      for (JobQueue* queue : gang_class->queues) AddQueue(*queue);
    }
    if (nodes_.empty()) return;
    for (const auto& [job, usage] : pool.usage) {
      WorkspaceNode& workspace = WorkspaceOf(*job);
      Add(workspace.usage, usage);
      Add(UserOf(workspace, *job).usage, usage);
    }
    for (JobNode& node : nodes_) {
      node.share = ShareOf(*node.job);
      if (node.Settle()) UserOf(WorkspaceOf(*node.job), *node.job).jobs.Add(&node);
    }
    for (auto& [owner, workspace] : workspaces_) MakeHeaps(*workspace);
    heap_.Make();
  }

  GangState* Next() override {
    while (!heap_.empty()) {
      while (!live_.empty() && live_.back()->done) live_.pop_back();
      if (live_.empty()) return nullptr;
      WorkspaceNode& workspace = *heap_.top();
      UserNode& user = *workspace.users.top();
      JobNode& job = *user.jobs.top();
      const GangState* before = job.next;
      if (!job.Settle()) {
        PopJob();
      } else if (job.next == before) {
        return job.next;
      } else {
        user.jobs.Sift();
      }
    }
    return nullptr;
  }

  void Advance() override {
    WorkspaceNode& workspace = *heap_.top();
    UserNode& user = *workspace.users.top();
    JobNode& job = *user.jobs.top();
    if (job.next->fresh) {
      Charge(job, user, workspace);
    } else {
      job.Advance();
    }
    if (!job.Settle()) return PopJob();
    user.jobs.Sift();
    workspace.users.Sift();
    heap_.Sift();
  }

  Place PlaceOf(const GangState& gang) const override {
    Place place;
    place.workspace = gang.job->job.workspace;
    place.user = gang.job->job.user;
    place.position = gang.job->job.position;
    place.submitted = gang.gang->submitted;
    place.id = gang.gang->id.value();
    const auto job = jobs_.find(gang.job);
    if (job != jobs_.end()) place.job_share = job->second->share;
    const auto workspace = workspaces_.find(gang.job->workspace);
    if (workspace == workspaces_.end()) return place;
    place.workspace_share = workspace->second->share;
    const auto user = workspace->second->all_users.find(gang.job->user);
    if (user != workspace->second->all_users.end()) place.user_share = user->second->share;
    return place;
  }

 private:
  static void Add(Usage& sum, const Usage& usage) {
    sum.slots += usage.slots;
    sum.cpus += usage.cpus;
    sum.memory += usage.memory;
  }
  WorkspaceNode& WorkspaceOf(const JobState& job) {
    auto& node = workspaces_[job.workspace];
    if (node == nullptr) node = std::make_unique<WorkspaceNode>();
    node->owner = job.workspace;
    return *node;
  }
  static UserNode& UserOf(WorkspaceNode& workspace, const JobState& job) {
    auto& node = workspace.all_users[job.user];
    if (node == nullptr) node = std::make_unique<UserNode>();
    node->owner = job.user;
    return *node;
  }
  double ShareOf(const JobState& job) const {
    const auto usage = pool_->usage.find(&job);
    if (usage == pool_->usage.end()) return 0;
    return DominantShare(usage->second, total_) / WeightOf(job);
  }
  void AddQueue(const JobQueue& queue) {
    JobNode*& node = jobs_[queue.job];
    if (node == nullptr) {
      node = &nodes_.emplace_back();
      node->job = queue.job;
    }
    node->cursors.emplace_back(queue);
  }
  void MakeHeaps(WorkspaceNode& workspace) {
    workspace.share = DominantShare(workspace.usage, total_);
    for (auto& [owner, user] : workspace.all_users) {
      user->share = DominantShare(user->usage, total_);
      if (user->jobs.empty()) continue;
      user->jobs.Make();
      workspace.users.Add(user.get());
    }
    if (workspace.users.empty()) return;
    workspace.users.Make();
    heap_.Add(&workspace);
  }
  // What it gets counts from now on.
  void Charge(JobNode& job, UserNode& user, WorkspaceNode& workspace) {
    const Usage got = scheduler::UsageOf(*job.next, job.next->slots());
    Add(user.usage, got);
    Add(workspace.usage, got);
    job.share = ShareOf(*job.job);
    user.share = DominantShare(user.usage, total_);
    workspace.share = DominantShare(workspace.usage, total_);
  }
  // The first job has nobody left to serve.
  void PopJob() {
    WorkspaceNode& workspace = *heap_.top();
    UserNode& user = *workspace.users.top();
    user.jobs.Pop();
    if (user.jobs.empty()) {
      workspace.users.Pop();
    } else {
      workspace.users.Sift();
    }
    if (workspace.users.empty()) {
      heap_.Pop();
    } else {
      heap_.Sift();
    }
  }

  const PoolState* pool_;
  Usage total_;
  absl::flat_hash_map<const Owner*, std::unique_ptr<WorkspaceNode>> workspaces_;
  absl::flat_hash_map<const JobState*, JobNode*> jobs_;
  std::deque<JobNode> nodes_;
  std::vector<const GangClass*> live_;  // that are not done, and maybe some that are
  Heap<WorkspaceNode> heap_;
};

}  // namespace

std::unique_ptr<Order> MakeFairOrder(PoolState& pool) { return std::make_unique<FairOrder>(pool); }

}  // namespace det::scheduler
