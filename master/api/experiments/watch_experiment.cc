#include "master/api/experiments/watch_experiment.h"

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::api {
namespace {

using Response = v1::WatchExperimentResponse;
using Out = Stream<Response>;

bool HasEnded(v1::Experiment::State state) {
  return state == v1::Experiment::STATE_COMPLETED || state == v1::Experiment::STATE_CANCELED ||
         state == v1::Experiment::STATE_ERROR || state == v1::Experiment::STATE_DELETING ||
         state == v1::Experiment::STATE_DELETE_FAILED || state == v1::Experiment::STATE_DELETED;
}

// One stream and what it has sent.
class Watcher final : public std::enable_shared_from_this<Watcher> {
 public:
  Watcher(live::ExperimentWatch& watch, std::shared_ptr<SharedExperimentReader> reader,
          const v1::WatchExperimentRequest& request)
      : watch_(watch),
        reader_(std::move(reader)),
        id_(request.experiment_id()),
        trial_(request.trial_id()),
        wants_points_(request.points()),
        after_(request.after()) {}

  // Call it before the first read, after the subscription to reports.
  void Begin() {
    if (wants_points_) position_ = watch_.feed().Open(id_, after_);
  }
  void End() {
    if (wants_points_) watch_.CloseFeed(id_);
  }

  void OnChange() { changed_ = true; }
  void OnReport() { ++reports_; }
  bool queued() const { return queued_; }

  // Called by one thread at a time.
  void Produce(Out& out) {
    SendReports(out);
    if (changed_.exchange(false) && BeginRead()) Read(out.shared_from_this());
  }

 private:
  // Only one read is running at a time, so that an older state is not sent after a newer one.
  // Returns false if another read is running; it is repeated then.
  bool BeginRead() {
    std::lock_guard lock(mutex_);
    repeat_ = reading_;
    return !std::exchange(reading_, true);
  }
  void EndRead(Out& out) {
    {
      std::lock_guard lock(mutex_);
      reading_ = false;
      if (std::exchange(repeat_, false)) changed_ = true;
    }
    out.Wake();
  }

  void Read(std::shared_ptr<Out> out) {
    reader_->Read(id_, [self = shared_from_this(), out](absl::StatusOr<ExperimentViewPtr> view) {
      if (!view.ok()) return out->Close(view.status());
      self->SendExperiment(**view, *out);
      const bool ended = HasEnded((*view)->message->experiment().state());
      if (self->trial_ == model::TrialId()) return self->Finish(ended, *out);
      self->reader_->Read(self->id_, self->trial_,
                          [self, out, ended](absl::StatusOr<ExperimentViewPtr> trial) {
                            if (!trial.ok()) return out->Close(trial.status());
                            self->SendTrial(**trial, *out);
                            self->Finish(ended, *out);
                          });
    });
  }

  void SendExperiment(const ExperimentView& view, Out& out) {
    queued_ = view.message->experiment().state() == v1::Experiment::STATE_QUEUED;
    if (view.fingerprint == sent_experiment_) return;
    sent_experiment_ = view.fingerprint;
    if (began_ || !wants_points_) {
      out.Send(view.message);
    } else {
      Response first = *view.message;
      first.set_position(position_.text);
      first.set_missed(position_.missed);
      out.Send(std::move(first));
    }
    began_ = true;
  }

  void SendTrial(const ExperimentView& view, Out& out) {
    if (view.fingerprint == sent_trial_) return;
    sent_trial_ = view.fingerprint;
    out.Send(view.message);
  }

  void Finish(bool ended, Out& out) {
    if (ended) {
      // Send the reports from before the end whose notification is still delayed.
      if (wants_points_) watch_.feed().Seal(id_);
      SendReports(out);
      out.Close(absl::OkStatus());
    }
    EndRead(out);
  }

  void SendReports(Out& out) {
    if (!began_) return;
    std::lock_guard lock(send_mutex_);
    if (wants_points_) return SendPoints(out);
    const int64_t reports = reports_;
    if (std::exchange(sent_reports_, reports) >= reports) return;
    Response response;
    response.set_reports(reports);
    out.Send(std::move(response));
  }

  void SendPoints(Out& out) {
    live::MetricFeed::Updates updates = watch_.feed().ReadAfter(id_, position_.number);
    if (updates.position.missed) {
      Response response;
      response.set_missed(true);
      response.set_position(updates.position.text);
      out.Send(std::move(response));
    } else {
      for (live::MetricFeed::Message& message : updates.messages) out.Send(std::move(message));
    }
    position_ = std::move(updates.position);
  }

  live::ExperimentWatch& watch_;
  const std::shared_ptr<SharedExperimentReader> reader_;
  const model::ExperimentId id_;
  const model::TrialId trial_;
  const bool wants_points_;
  const std::string after_;

  std::atomic<bool> queued_ = false;  // in the last read state; then changes of the queue matter
  std::atomic<bool> changed_ = true;  // the state must be read again
  std::atomic<bool> began_ = false;   // the first message was sent
  std::atomic<int64_t> reports_ = 0;  // notifications of reports

  std::mutex mutex_;  // guards reading_ and repeat_
  bool reading_ = false;
  bool repeat_ = false;  // a change was notified during the read
  // The fingerprints that were sent last. Used by the running read only.
  std::string sent_experiment_;
  std::string sent_trial_;

  std::mutex send_mutex_;  // guards the members below
  int64_t sent_reports_ = 0;
  live::MetricFeed::Position position_;
};

}  // namespace

void WatchExperiment(live::ExperimentWatch& watch, std::shared_ptr<SharedExperimentReader> reader,
                     const v1::WatchExperimentRequest& request, std::shared_ptr<Out> stream) {
  const model::ExperimentId id(request.experiment_id());
  const std::weak_ptr<Out> weak = stream;
  const auto wake = [weak] {
    if (const auto held = weak.lock()) held->Wake();
  };
  auto watcher = std::make_shared<Watcher>(watch, std::move(reader), request);
  // Subscribe before the first read, so that no change between the two is lost.
  const int64_t changes = watch.experiments().Subscribe(id, [watcher, wake] {
    watcher->OnChange();
    wake();
  });
  const int64_t queue = watch.queue().Subscribe({}, [watcher, wake] {
    if (!watcher->queued()) return;
    watcher->OnChange();
    wake();
  });
  const int64_t metrics = watch.metrics().Subscribe(id, [watcher, wake] {
    watcher->OnReport();
    wake();
  });
  watcher->Begin();
  stream->Start([watcher](Out& out) { watcher->Produce(out); },
                [&watch, watcher, id, changes, queue, metrics] {
                  watcher->End();
                  watch.experiments().Unsubscribe(id, changes);
                  watch.queue().Unsubscribe({}, queue);
                  watch.metrics().Unsubscribe(id, metrics);
                });
}

}  // namespace det::api
