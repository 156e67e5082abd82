#include "master/api/experiments/watch_experiment.h"

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

namespace det::api {
namespace {

using Response = v1::WatchExperimentResponse;
using Out = Stream<Response>;

bool IsOver(v1::Experiment::State state) {
  return state == v1::Experiment::STATE_COMPLETED || state == v1::Experiment::STATE_CANCELED ||
         state == v1::Experiment::STATE_ERROR || state == v1::Experiment::STATE_DELETING ||
         state == v1::Experiment::STATE_DELETE_FAILED || state == v1::Experiment::STATE_DELETED;
}

// One who watches, and what he was sent last.
class Watcher final : public std::enable_shared_from_this<Watcher> {
 public:
  Watcher(live::ExperimentWatch& watch, std::shared_ptr<ExperimentBoard> board,
          const v1::WatchExperimentRequest& request)
      : watch_(watch),
        board_(std::move(board)),
        id_(request.experiment_id()),
        trial_(request.trial_id()),
        wants_points_(request.points()),
        after_(request.after()) {}

  // Before the first look, once it hears of reports.
  void Begin() {
    if (wants_points_) position_ = watch_.feed().Open(id_, after_);
  }
  void End() {
    if (wants_points_) watch_.CloseFeed(id_);
  }

  void Changed() { changed_ = true; }
  void Reported() { ++reports_; }
  bool waits() const { return waits_; }

  // One run at a time.
  void Produce(Out& out) {
    SendReports(out);
    if (changed_.exchange(false) && BeginLook()) Look(out.shared_from_this());
  }

 private:
  // One look at a time, so that no older one comes second.
  bool BeginLook() {
    std::lock_guard lock(mutex_);
    again_ = looking_;
    return !std::exchange(looking_, true);
  }
  void EndLook(Out& out) {
    {
      std::lock_guard lock(mutex_);
      looking_ = false;
      if (std::exchange(again_, false)) changed_ = true;
    }
    out.Wake();
  }

  void Look(std::shared_ptr<Out> out) {
    board_->Show(id_, [self = shared_from_this(), out](absl::StatusOr<ExperimentBoard::Seen> seen) {
      if (!seen.ok()) return out->Close(seen.status());
      self->SendExperiment(**seen, *out);
      const bool over = IsOver((*seen)->message->experiment().state());
      if (self->trial_ == model::TrialId()) return self->Finish(over, *out);
      self->board_->Show(self->id_, self->trial_,
                         [self, out, over](absl::StatusOr<ExperimentBoard::Seen> trial) {
                           if (!trial.ok()) return out->Close(trial.status());
                           self->SendTrial(**trial, *out);
                           self->Finish(over, *out);
                         });
    });
  }

  void SendExperiment(const ExperimentBoard::Look& look, Out& out) {
    waits_ = look.message->experiment().state() == v1::Experiment::STATE_QUEUED;
    if (look.news == experiment_) return;
    experiment_ = look.news;
    if (began_ || !wants_points_) {
      out.Send(look.message);
    } else {
      Response first = *look.message;
      first.set_position(position_.text);
      first.set_missed(position_.missed);
      out.Send(std::move(first));
    }
    began_ = true;
  }

  void SendTrial(const ExperimentBoard::Look& look, Out& out) {
    if (look.news == trial_news_) return;
    trial_news_ = look.news;
    out.Send(look.message);
  }

  void Finish(bool over, Out& out) {
    if (over) {
      // What was reported before the end, and waits for the moment to be told.
      if (wants_points_) watch_.feed().Seal(id_);
      SendReports(out);
      out.Close(absl::OkStatus());
    }
    EndLook(out);
  }

  void SendReports(Out& out) {
    if (!began_) return;
    std::lock_guard lock(telling_);
    if (wants_points_) return SendPoints(out);
    const int64_t reports = reports_;
    if (std::exchange(told_, reports) >= reports) return;
    Response response;
    response.set_reports(reports);
    out.Send(std::move(response));
  }

  void SendPoints(Out& out) {
    live::MetricFeed::Updates news = watch_.feed().ReadAfter(id_, position_.number);
    if (updates.position.missed) {
      Response response;
      response.set_missed(true);
      response.set_position(updates.position.text);
      out.Send(std::move(response));
    } else {
      for (live::MetricFeed::Message& message : news.messages) out.Send(std::move(message));
    }
    position_ = std::move(updates.position);
  }

  live::ExperimentWatch& watch_;
  const std::shared_ptr<ExperimentBoard> board_;
  const model::ExperimentId id_;
  const model::TrialId trial_;
  const bool wants_points_;
  const std::string after_;

  std::atomic<bool> waits_ = false;   // as of the last look: the queue's news are its own
  std::atomic<bool> changed_ = true;  // so that another look is due
  std::atomic<bool> began_ = false;   // the first message is out
  std::atomic<int64_t> reports_ = 0;  // heard of

  std::mutex mutex_;  // of looking_ and again_
  bool looking_ = false;
  bool again_ = false;
  // Touched by looks alone.
  std::string experiment_, trial_news_;

  std::mutex telling_;  // of what follows
  int64_t told_ = 0;    // of reports_
  live::MetricFeed::Position position_;
};

}  // namespace

void WatchExperiment(live::ExperimentWatch& watch, std::shared_ptr<ExperimentBoard> board,
                     const v1::WatchExperimentRequest& request, std::shared_ptr<Out> stream) {
  const model::ExperimentId id(request.experiment_id());
  const std::weak_ptr<Out> weak = stream;
  const auto wake = [weak] {
    if (const auto held = weak.lock()) held->Wake();
  };
  auto watcher = std::make_shared<Watcher>(watch, std::move(board), request);
  // Before the first look, so that nothing falls between the two.
  const int64_t changes = watch.experiments().Subscribe(id, [watcher, wake] {
    watcher->Changed();
    wake();
  });
  const int64_t queue = watch.queue().Subscribe({}, [watcher, wake] {
    if (!watcher->waits()) return;
    watcher->Changed();
    wake();
  });
  const int64_t metrics = watch.metrics().Subscribe(id, [watcher, wake] {
    watcher->Reported();
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
