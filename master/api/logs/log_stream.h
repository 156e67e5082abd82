// Streams the log of a task: the stored lines, and with `follow` new lines until the trial has
// ended.
//
// Used by services on the pool. New lines and changes of the experiment wake the stream; it does
// not poll.
#ifndef MASTER_API_LOGS_LOG_STREAM_H_
#define MASTER_API_LOGS_LOG_STREAM_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/api/rpc/stream.h"
#include "master/core/model/states.h"
#include "master/live/experiment_watch.h"
#include "master/store/interfaces/records.h"
#include "master/store/interfaces/store.h"

namespace re2 {
class RE2;
}

namespace det::api {

struct LogStreamOptions {
  store::LogQuery query;
  // Whose end ends the stream: a trial and its experiment, or else the task of the query.
  model::TrialId trial;
  model::ExperimentId experiment;
  int limit = 0;  // the maximum number of lines; 0: no limit
  bool follow = false;
  std::string pattern;  // the regular expression that lines must match; empty: none
};

// Reads the lines page by page, in ascending or descending order.
class LogCursor {
 public:
  LogCursor(store::Store& store, LogStreamOptions options);

  struct Page {
    std::vector<store::LogRecord> lines;
    bool more = false;  // the store may have more lines now
    bool last = false;  // no more lines will follow
  };
  // Returns INVALID_ARGUMENT if the pattern is not a valid regular expression.
  absl::StatusOr<Page> Next();

  const LogStreamOptions& options() const { return options_; }

 private:
  store::Store& store_;
  LogStreamOptions options_;
  int remaining_;
  std::shared_ptr<const re2::RE2> pattern_;  // may be null
};

// Calls `send` with each page of lines; it sends messages to the stream.
template <class Response>
void ServePages(store::Store& store, live::ExperimentWatch& watch,
                std::shared_ptr<Stream<Response>> stream, LogStreamOptions options,
                std::function<void(const std::vector<store::LogRecord>&, Stream<Response>&)> send) {
  auto cursor = std::make_shared<LogCursor>(store, std::move(options));
  const auto task = cursor->options().query.task;
  const auto experiment = cursor->options().experiment;
  std::function<void()> on_close;
  if (cursor->options().follow) {
    const std::weak_ptr<Stream<Response>> weak = stream;
    const auto wake = [weak] {
      if (const auto held = weak.lock()) held->Wake();
    };
    // Subscribe before the first read, so that no line between the two is lost.
    const int64_t lines = watch.logs().Subscribe(task, wake);
    const bool is_trial = cursor->options().trial.value() != 0;
    const int64_t changes = is_trial ? watch.experiments().Subscribe(experiment, wake)
                                     : watch.tasks().Subscribe(task, wake);
    on_close = [&watch, task, experiment, lines, is_trial, changes] {
      watch.logs().Unsubscribe(task, lines);
      if (is_trial) return watch.experiments().Unsubscribe(experiment, changes);
      watch.tasks().Unsubscribe(task, changes);
    };
  }
  stream->Start(
      [cursor, send = std::move(send)](Stream<Response>& out) {
        absl::StatusOr<LogCursor::Page> page = cursor->Next();
        if (!page.ok()) return out.Close(page.status());
        send(page->lines, out);
        if (page->last) return out.Close(absl::OkStatus());
        if (page->more) out.Wake();
      },
      std::move(on_close));
}

// Sends one message for each line.
template <class Response>
void ServeLogs(store::Store& store, live::ExperimentWatch& watch,
               std::shared_ptr<Stream<Response>> stream, LogStreamOptions options,
               std::function<Response(const store::LogRecord&)> convert) {
  ServePages<Response>(store, watch, std::move(stream), std::move(options),
                       [convert = std::move(convert)](const std::vector<store::LogRecord>& lines,
                                                      Stream<Response>& out) {
                         for (const store::LogRecord& line : lines) out.Send(convert(line));
                       });
}

}  // namespace det::api

#endif  // MASTER_API_LOGS_LOG_STREAM_H_
