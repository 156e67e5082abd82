#include "trial_api/cpp/core/report_queue.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "trial_api/cpp/core/error.h"

namespace det::core {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t kBatchRecords = 500;
constexpr size_t kBatchBytes = size_t{256} << 10;
// The interval of retries while the disk is full and training waits.
constexpr std::chrono::seconds kDiskPause(1);
constexpr std::chrono::seconds kLastTries(2);
// The interval at which a waiting validation checks whether the master is unavailable.
constexpr std::chrono::milliseconds kGlance(10);
constexpr std::chrono::seconds kLogAfter(10);

// Returns the records to send in one call: a single checkpoint, or metrics up to a validation,
// because the response refers to the validation.
struct Batch {
  std::vector<MetricReport> metrics;
  std::optional<CheckpointReport> checkpoint;
  size_t records = 0;
  bool ends_in_validation = false;
};

Batch MakeBatch(const std::vector<std::string>& records) {
  if (records.empty()) throw Error("cannot read an outbox: its files are damaged");
  Batch batch;
  for (const std::string& record : records) {
    auto report = DecodeReport(record);
    if (auto* checkpoint = std::get_if<CheckpointReport>(&report)) {
      if (batch.records > 0) break;
      batch.checkpoint = std::move(*checkpoint);
      batch.records = 1;
      break;
    }
    batch.metrics.push_back(std::move(std::get<MetricReport>(report)));
    ++batch.records;
    if (batch.metrics.back().group != "validation") continue;
    batch.ends_in_validation = true;
    break;
  }
  return batch;
}

// Returns the next batch, which is one record while `singly` records are sent one by one.
Batch MakeBatch(const Outbox& outbox, size_t singly) {
  return MakeBatch(outbox.Front(singly > 0 ? 1 : kBatchRecords, kBatchBytes));
}

struct Sent {
  bool done = false;  // the records can be removed
  bool best = false;  // the validation at the end of the batch is the best
};

// Sends a batch. If the master rejects several records, it may have stored some or none of them:
// sets `singly`, so that the next calls send them one by one, and the master ignores those that it
// has. Calls `on_rejected` for a record that is rejected alone.
Sent Send(TrialClient& client, const Batch& batch, std::optional<int> run, size_t& singly,
          const std::function<void(const InvalidCall&)>& on_rejected) {
  Sent sent{.done = true, .best = false};
  try {
    if (batch.checkpoint) {
      client.ReportCheckpoint(*batch.checkpoint);
    } else {
      sent.best = client.ReportMetrics(batch.metrics, run);
    }
  } catch (const InvalidCall& e) {
    if (batch.records > 1) {
      singly = batch.records;
      return {};
    }
    on_rejected(e);
  }
  singly -= std::min(singly, batch.records);
  return sent;
}

// Returns the run of an outbox's directory; nullopt if the name is not a run.
std::optional<int> ParseRun(const fs::path& dir) {
  int run = 0;
  if (absl::SimpleAtoi(dir.filename().string(), &run)) return run;
  return std::nullopt;
}

// Returns the directories of the runs before that of `dir`, in order.
std::map<int, fs::path> FindLeftovers(const fs::path& dir) {
  std::map<int, fs::path> found;
  const std::optional<int> run = ParseRun(dir);
  std::error_code ignored;
  for (fs::directory_iterator it(dir.parent_path(), ignored), end; it != end;
       it.increment(ignored)) {
    const std::optional<int> other = ParseRun(it->path());
    if (run && other && *other < *run) found.emplace(*other, it->path());
  }
  return found;
}

}  // namespace

ReportQueue::ReportQueue(std::shared_ptr<TrialClient> client, const Options& options)
    : client_(std::move(client)), options_(options), outbox_(Outbox::Open(options.outbox)) {
  if (outbox_ == nullptr) {
    throw Error("another process is sending the reports of this attempt from " +
                options.outbox.dir);
  }
  added_ = outbox_->size();
  sender_ = std::thread([this] { Run(); });
}

ReportQueue::~ReportQueue() {
  {
    std::lock_guard lock(mutex_);
    stop_at_ = Clock::now() + kLastTries;
  }
  client_
      ->StopRetrying();  // The sender may be busy with reports of this attempt or of another one.
  changed_.notify_all();
  sender_.join();
  if (outbox_->empty()) {
    outbox_.reset();
    // Removes the trial's directory unless other runs have files there.
    const fs::path dir = options_.outbox.dir;
    if (ParseRun(dir)) ::rmdir(dir.parent_path().c_str());
    return;
  }
  std::fprintf(stderr,
               "WARNING: %lld reports could not be sent to the master; the trial's next attempt on "
               "this node will send them\n",
               static_cast<long long>(outbox_->size()));
}

void ReportQueue::AddMetrics(const MetricReport& report) {
  const std::string record = Encode(report);
  std::unique_lock lock(mutex_);
  Add(lock, record);
}

bool ReportQueue::AddValidation(const MetricReport& report) {
  const std::string record = Encode(report);
  std::unique_lock lock(mutex_);
  const bool waits = answer_.number == last_validation_ && !client_->IsMasterUnavailable();
  const int64_t number = last_validation_ = Add(lock, record);
  const Clock::time_point until = Clock::now() + options_.response_timeout;
  while (waits && answer_.number < number && !failure_ && !client_->IsMasterUnavailable() &&
         Clock::now() < until) {
    changed_.wait_for(lock, kGlance);
  }
  ThrowIfFailed();
  return answer_.number != number || answer_.best;
}

void ReportQueue::AddCheckpoint(const CheckpointReport& report) {
  const std::string record = Encode(report);
  std::unique_lock lock(mutex_);
  Add(lock, record);
}

void ReportQueue::SetProgress(double fraction) {
  std::lock_guard lock(mutex_);
  progress_ = fraction;
  changed_.notify_all();
}

void ReportQueue::Flush() {
  std::unique_lock lock(mutex_);
  const auto done = [this] { return (sent_ == added_ && !progress_ && !busy_) || ended_; };
  if (!changed_.wait_for(lock, kLogAfter, done)) {
    LogWaiting(added_ - sent_);
    changed_.wait(lock, done);
  }
  ThrowIfFailed();
}

void ReportQueue::Discard() {
  std::lock_guard lock(mutex_);
  outbox_->Clear();
  sent_ = added_;
  progress_.reset();
}

int64_t ReportQueue::Add(std::unique_lock<std::mutex>& lock, const std::string& record) {
  ThrowIfFailed();
  for (bool logged = false; !outbox_->Add(record); logged = true) {
    if (!logged) LogWaiting(outbox_->size());
    changed_.wait_for(lock, kDiskPause);
    ThrowIfFailed();
  }
  changed_.notify_all();
  return ++added_;
}

void ReportQueue::LogWaiting(int64_t records) {
  std::fprintf(stderr, "INFO: waiting for the master to accept %lld reports\n",
               static_cast<long long>(records));
}

void ReportQueue::ThrowIfFailed() const {
  if (failure_) std::rethrow_exception(failure_);
}

void ReportQueue::Run() {
  try {
    SendLeftovers();
    while (SendNext()) {
    }
  } catch (const RunIsOver& e) {
    Discard();
    if (options_.on_over) options_.on_over(e.what());
    Discard();
    End(std::current_exception());
  } catch (const std::exception&) {
    End(std::current_exception());
  }
}

void ReportQueue::End(std::exception_ptr failure) {
  std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  ended_ = true;
  changed_.notify_all();
}

void ReportQueue::Fail(std::exception_ptr rejection) {
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(rejection);
  changed_.notify_all();
}

bool ReportQueue::Stopping() {
  std::lock_guard lock(mutex_);
  return stop_at_ && Clock::now() >= *stop_at_;
}

void ReportQueue::SendLeftovers() {
  for (const auto& [run, dir] : FindLeftovers(options_.outbox.dir)) {
    Outbox::Options where = options_.outbox;
    where.dir = dir.string();
    // Null: the process of that run is still running; the master will end it.
    if (const auto left = Outbox::Open(where)) SendLeftover(*left, run);
  }
}

void ReportQueue::SendLeftover(Outbox& left, int run) {
  auto count = static_cast<long long>(left.size());
  size_t singly = 0;
  const auto warn = [&](const InvalidCall& e) {
    --count;
    std::fprintf(stderr, "WARNING: the master rejected a report of the earlier attempt %d: %s\n",
                 run, e.what());
  };
  try {
    while (!left.empty() && !Stopping()) {
      const Batch batch = MakeBatch(left, singly);
      if (Send(*client_, batch, run, singly, warn).done) left.RemoveFront(batch.records);
    }
    if (count == 0 || !left.empty()) return;
    std::fprintf(stderr, "INFO: sent %lld reports of the earlier attempt %d\n", count, run);
  } catch (const RunIsOver&) {
    throw;
  } catch (const Unreachable&) {
    throw;
  } catch (const Error& e) {
    std::fprintf(stderr, "WARNING: reports of the earlier attempt %d are lost: %s\n", run,
                 e.what());
    left.Clear();
  }
}

bool ReportQueue::SendNext() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_at_ || !outbox_->empty() || progress_; });
  if (stop_at_ && ((outbox_->empty() && !progress_) || Clock::now() >= *stop_at_)) return false;
  busy_ = true;
  if (outbox_->empty()) {
    const double fraction = *std::exchange(progress_, std::nullopt);
    lock.unlock();
    client_->ReportProgress(fraction);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
    return true;
  }
  const Batch batch = MakeBatch(*outbox_, singly_);
  lock.unlock();
  const Sent sent = Send(*client_, batch, {}, singly_,
                         [this](const InvalidCall& e) { Fail(std::make_exception_ptr(e)); });
  lock.lock();
  busy_ = false;
  if (!sent.done || outbox_->empty()) return true;  // Empty: Discard() was called meanwhile.
  outbox_->RemoveFront(batch.records);
  sent_ += static_cast<int64_t>(batch.records);
  if (batch.ends_in_validation) answer_ = {sent_, sent.best};
  changed_.notify_all();
  return true;
}

}  // namespace det::core
