// Logs of a task as a stream: what is stored, and with `follow` what comes until the trial is over.
//
// Opened by the trial and the task service on the pool. Woken by new lines and by changes of the
// experiment; never polls.
#ifndef MASTER_API_LOGS_LOG_STREAM_H_
#define MASTER_API_LOGS_LOG_STREAM_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "master/api/rpc/edge.h"
#include "master/api/rpc/stream.h"
#include "master/core/model/states.h"
#include "master/store/interfaces/records.h"

namespace re2 {
class RE2;
}

namespace det::api {

struct LogQuestion {
  store::LogQuery query;
  model::TrialId trial;
  model::ExperimentId experiment;
  int limit = 0;  // 0: all
  bool follow = false;
  std::string pattern;  // a regular expression that lines are to match; empty: none
};

// What has been sent, and the next portion of it, of bounded length in either order.
class LogCursor {
 public:
  LogCursor(const Edge& edge, LogQuestion question);

  struct Portion {
    std::vector<store::LogRecord> lines;
    bool more = false;  // some that are stored were not looked at yet
    bool last = false;  // nothing will follow
  };
  // INVALID_ARGUMENT for a pattern that is no regular expression.
  absl::StatusOr<Portion> Next();

  const LogQuestion& question() const { return question_; }

 private:
  const Edge& edge_;
  LogQuestion question_;
  int left_;
  std::shared_ptr<const re2::RE2> pattern_;  // null: none
};

// `send` gets each portion of lines, and the stream to say of them what it likes.
template <class Response>
void ServePortions(
    const Edge& edge, std::shared_ptr<Stream<Response>> stream, LogQuestion question,
    std::function<void(const std::vector<store::LogRecord>&, Stream<Response>&)> send) {
  auto cursor = std::make_shared<LogCursor>(edge, std::move(question));
  const auto task = cursor->question().query.task;
  const auto experiment = cursor->question().experiment;
  std::function<void()> on_over;
  if (cursor->question().follow) {
    const std::weak_ptr<Stream<Response>> weak = stream;
    const auto wake = [weak] {
      if (const auto held = weak.lock()) held->Wake();
    };
    // Before the first look, so that nothing falls between the two.
    const int64_t lines = edge.watch->logs().Subscribe(task, wake);
    const int64_t changes = edge.watch->experiments().Subscribe(experiment, wake);
    on_over = [&edge, task, experiment, lines, changes] {
      edge.watch->logs().Unsubscribe(task, lines);
      edge.watch->experiments().Unsubscribe(experiment, changes);
    };
  }
  stream->Start(
      [cursor, send = std::move(send)](Stream<Response>& out) {
        absl::StatusOr<LogCursor::Portion> portion = cursor->Next();
        if (!portion.ok()) return out.Close(portion.status());
        send(portion->lines, out);
        if (portion->last) return out.Close(absl::OkStatus());
        if (portion->more) out.Wake();
      },
      std::move(on_over));
}

// A message for each line.
template <class Response>
void ServeLogs(const Edge& edge, std::shared_ptr<Stream<Response>> stream, LogQuestion question,
               std::function<Response(const store::LogRecord&)> convert) {
  ServePortions<Response>(edge, std::move(stream), std::move(question),
                          [convert = std::move(convert)](const std::vector<store::LogRecord>& lines,
                                                         Stream<Response>& out) {
                            for (const store::LogRecord& line : lines) out.Send(convert(line));
                          });
}

}  // namespace det::api

#endif  // MASTER_API_LOGS_LOG_STREAM_H_
