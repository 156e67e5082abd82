#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/recent_log.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "det/api/v1/master.unary.h"
#include "master/api/audit/audit_query.h"
#include "master/api/cluster/services.h"
#include "master/api/common/convert.h"
#include "master/api/common/database_probe.h"
#include "master/api/logs/log_config.h"
#include "master/api/rpc/api_service.h"
#include "master/live/topic.h"

namespace det::api {
namespace {

struct Slots {
  int agents = 0;
  int slots = 0;
  int in_use = 0;
};

Slots CountSlots(const cluster::Cluster& cluster) {
  Slots count;
  for (const auto& [id, agent] : cluster.agents()) {
    if (!agent.connected) continue;
    ++count.agents;
    count.slots += static_cast<int>(agent.slots.size());
  }
  for (const experiment::Allocation* allocation : cluster.live_allocations()) {
    for (const experiment::LocalTask& local_task : allocation->local_tasks) {
      if (!local_task.exited) count.in_use += static_cast<int>(local_task.placement.slots.size());
    }
  }
  return count;
}

// ---- the cluster message, which administrators set ----

constexpr size_t kMaxMessageBytes = 250;  // it is shown in one line

v1::ClusterMessage ToClusterMessage(const store::MessageRecord& record) {
  v1::ClusterMessage message;
  message.set_message(record.text);
  *message.mutable_start_time() = ToProto(record.starts_at);
  if (record.ends_at) *message.mutable_end_time() = ToProto(*record.ends_at);
  *message.mutable_created_time() = ToProto(record.created_at);
  return message;
}

absl::StatusOr<store::MessageRecord> ParseMessage(const v1::SetClusterMessageRequest& request,
                                                  absl::Time now) {
  if (request.message().empty() || request.message().size() > kMaxMessageBytes) {
    return absl::InvalidArgumentError(absl::StrCat("message: expected 1 to ", kMaxMessageBytes,
                                                   " bytes, found ", request.message().size()));
  }
  store::MessageRecord record;
  record.text = request.message();
  record.created_at = now;
  record.starts_at = request.has_start_time() ? FromProto(request.start_time()) : now;
  if (request.has_end_time()) record.ends_at = FromProto(request.end_time());
  if (!request.duration().empty()) {
    absl::Duration duration;
    if (request.has_end_time() || !absl::ParseDuration(request.duration(), &duration)) {
      return absl::InvalidArgumentError(
          absl::StrCat("duration: expected a duration such as 2h30m, and no end_time; "
                       "found \"",
                       request.duration(), "\""));
    }
    record.ends_at = record.starts_at + duration;
  }
  if (record.ends_at && *record.ends_at <= std::max(record.starts_at, now)) {
    return absl::InvalidArgumentError(
        "end_time: expected a time in the future and after start_time");
  }
  return record;
}

// ---- the master's log ----

v1::LogLevel ToLogLevel(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::kDebug:
      return v1::LOG_LEVEL_DEBUG;
    case base::LogLevel::kInfo:
      return v1::LOG_LEVEL_INFO;
    case base::LogLevel::kWarning:
      return v1::LOG_LEVEL_WARNING;
    case base::LogLevel::kError:
      return v1::LOG_LEVEL_ERROR;
  }
  return v1::LOG_LEVEL_UNSPECIFIED;
}

// A line can contain text from clients that is not valid UTF-8.
std::string ReplaceInvalidUtf8(std::string text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = base::Utf8Length(std::string_view(text).substr(at));
    if (length == 0) text[at] = '?';
    at += std::max<size_t>(1, length);
  }
  return text;
}

v1::MasterLogsResponse ToLogsResponse(const base::RecentLogLine& line) {
  v1::MasterLogsResponse out;
  v1::LogEntry* entry = out.mutable_log_entry();
  entry->set_id(static_cast<int32_t>(line.id));
  entry->set_message(ReplaceInvalidUtf8(line.text));
  *entry->mutable_timestamp() = ToProto(line.time);
  entry->set_level(ToLogLevel(line.level));
  return out;
}

// Sends the log lines that a caller of MasterLogs has not received yet.
class LogReader {
 public:
  explicit LogReader(const v1::MasterLogsRequest& request)
      : next_(request.offset() < 0
                  ? std::max<int64_t>(1, base::GetNewestLogLineId() + 1 + request.offset())
                  : request.offset()),
        remaining_(request.limit() > 0 ? request.limit() : base::kMaxRecentLogLines),
        bounded_(request.limit() > 0),
        follow_(request.follow()) {}

  void SendNext(Stream<v1::MasterLogsResponse>& out) {
    constexpr size_t kBatchLines = 500;
    const auto lines = base::GetRecentLog(next_, std::min(kBatchLines, remaining_));
    for (const base::RecentLogLine& line : lines) out.Send(ToLogsResponse(line));
    if (!lines.empty()) next_ = lines.back().id + 1;
    if (bounded_) remaining_ -= lines.size();
    if (remaining_ == 0 || (lines.empty() && !follow_)) return out.Close(absl::OkStatus());
    if (!lines.empty()) out.Wake();
  }

 private:
  int64_t next_;
  size_t remaining_;
  const bool bounded_;
  const bool follow_;
};

class MasterService final : public ApiService<v1::MasterService> {
 public:
  MasterService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                base::ThreadPool& pool, base::EventLoop& loop, const base::Clock& clock,
                const MasterInfo& info)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        pool_(pool),
        loop_(loop),
        clock_(clock),
        info_(info),
        probe_([this] { return store_.Ping(); }, &pool_, &loop_) {}
  ~MasterService() override { base::SetLogListener(nullptr); }

  grpc::ServerUnaryReactor* GetMaster(grpc::CallbackServerContext* context,
                                      const v1::GetMasterRequest* request,
                                      v1::GetMasterResponse* response) override {
    return Unary(__func__, context, request, response, [this, response](const auth::Principal&) {
      response->set_version(kCompatibleVersion);
      response->set_resolute_version(info_.version);
      response->set_master_id(info_.master_id);
      response->set_cluster_id(info_.cluster_id);
      response->set_cluster_name(info_.cluster_name);
      response->set_rbac_enabled(info_.rbac_enabled);
      response->set_strict_job_queue_control(info_.strict_job_queue);
      response->set_user_management_enabled(true);
      response->mutable_feature_switches()->Assign(info_.feature_switches.begin(),
                                                   info_.feature_switches.end());
      AddCurrentMessage(response);
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* GetTelemetry(grpc::CallbackServerContext* context,
                                         const v1::GetTelemetryRequest* request,
                                         v1::GetTelemetryResponse* response) override {
    return Unary(__func__, context, request, response,
                 [](const auth::Principal&) { return absl::OkStatus(); });
  }

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const v1::GetInfoRequest* request,
                                    v1::GetInfoResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, response](const auth::Principal&, Done done) {
                   response->set_version(kCompatibleVersion);
                   response->set_resolute_version(info_.version);
                   *response->mutable_telemetry() = ToStruct(model::Value::Object{
                       {"enabled", false}, {"otel_enabled", false}, {"otel_endpoint", ""}});
                   response->set_master_id(info_.master_id);
                   response->set_cluster_id(info_.cluster_id);
                   response->set_cluster_name(info_.cluster_name);
                   *response->mutable_started_at() = ToProto(info_.started_at);
                   response->set_database(info_.database);
                   engine_.Query(
                       [response](const cluster::Cluster& cluster) {
                         const Slots count = CountSlots(cluster);
                         response->set_agents(count.agents);
                         response->set_slots(count.slots);
                         response->set_slots_in_use(count.in_use);
                       },
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetHealth(grpc::CallbackServerContext* context,
                                      const v1::GetHealthRequest*,
                                      v1::GetHealthResponse* response) override {
    // Inline: all threads of the pool may be waiting for a database that hangs.
    return calls().RunInline(context, [this, response](Done done) {
      response->set_status(v1::GetHealthResponse::up);
      response->set_database(v1::GetHealthResponse::up);
      response->add_resource_managers()->set_cluster_name("default");
      if (const absl::Status commits = engine_.health(); !commits.ok()) return done(commits);
      probe_.Check(std::move(done));
    });
  }

  grpc::ServerUnaryReactor* GetClusterMessage(grpc::CallbackServerContext* context,
                                              const v1::GetClusterMessageRequest* request,
                                              v1::GetClusterMessageResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto message, CurrentMessage());
                   if (message) *response->mutable_cluster_message() = ToClusterMessage(*message);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* SetClusterMessage(grpc::CallbackServerContext* context,
                                              const v1::SetClusterMessageRequest* request,
                                              v1::SetClusterMessageResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto message, ParseMessage(*request, clock_.Now()));
                   return Change([&] { return messages().SetMessage(message); });
                 });
  }

  grpc::ServerUnaryReactor* DeleteClusterMessage(
      grpc::CallbackServerContext* context, const v1::DeleteClusterMessageRequest* request,
      v1::DeleteClusterMessageResponse* response) override {
    return Unary(__func__, context, request, response, [this](const auth::Principal&) {
      return Change([this] { return messages().ClearMessage(); });
    });
  }

  grpc::ServerUnaryReactor* GetMasterConfig(grpc::CallbackServerContext* context,
                                            const v1::GetMasterConfigRequest* request,
                                            v1::GetMasterConfigResponse* response) override {
    return Unary(__func__, context, request, response, [this, response](const auth::Principal&) {
      *response->mutable_config() = ToStruct(info_.config);
      ShowLogLevel(response->mutable_config());
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* PatchMasterConfig(grpc::CallbackServerContext* context,
                                              const v1::PatchMasterConfigRequest* request,
                                              v1::PatchMasterConfigResponse* response) override {
    return Unary(__func__, context, request, response,
                 [request](const auth::Principal&) { return PatchLog(*request); });
  }

  grpc::ServerWriteReactor<v1::MasterLogsResponse>* MasterLogs(
      grpc::CallbackServerContext* context, const v1::MasterLogsRequest* request) override {
    return ServerStream<v1::MasterLogsResponse>(
        __func__, context, request,
        [this, request = *request](const auth::Principal&,
                                   std::shared_ptr<Stream<v1::MasterLogsResponse>> stream) {
          if (request.follow() && request.limit() != 0) {
            return stream->Close(absl::InvalidArgumentError(
                "limit: cannot be combined with follow; use a negative offset for the last lines"));
          }
          std::function<void()> on_over;
          if (request.follow()) {
            const std::weak_ptr<Stream<v1::MasterLogsResponse>> weak = stream;
            const int64_t id = lines_->Subscribe(0, [weak] {
              if (const auto held = weak.lock()) held->Wake();
            });
            on_over = [lines = lines_, id] { lines->Unsubscribe(0, id); };
          }
          stream->Start([reader = std::make_shared<LogReader>(request)](
                            Stream<v1::MasterLogsResponse>& out) { reader->SendNext(out); },
                        std::move(on_over));
        });
  }

  grpc::ServerUnaryReactor* GetAudit(grpc::CallbackServerContext* context,
                                     const v1::GetAuditRequest* request,
                                     v1::GetAuditResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return ReadAudit(store_, *request, response);
                 });
  }

 private:
  store::ClusterMessage& messages() { return store_.cluster_message(); }

  // Cached: anyone can call GetMaster without signing in, and only this master changes the message.
  absl::StatusOr<std::optional<store::MessageRecord>> CurrentMessage() {
    std::lock_guard lock(mutex_);
    if (!cached_) {
      DET_ASSIGN_OR_RETURN(message_, messages().GetMessage());
      cached_ = true;
    }
    return message_;
  }

  template <class Write>
  absl::Status Change(const Write& write) {
    std::lock_guard lock(mutex_);
    cached_ = false;
    return write();
  }

  // If the database is unavailable, GetMaster still returns the rest of its response.
  void AddCurrentMessage(v1::GetMasterResponse* response) {
    const auto message = CurrentMessage();
    if (!message.ok() || !message->has_value()) return;
    const store::MessageRecord& record = **message;
    const absl::Time now = clock_.Now();
    if (now < record.starts_at || (record.ends_at && now >= *record.ends_at)) return;
    *response->mutable_cluster_message() = ToClusterMessage(record);
  }

  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
  base::EventLoop& loop_;
  const base::Clock& clock_;
  const MasterInfo& info_;
  DatabaseProbe probe_;
  std::mutex mutex_;
  bool cached_ = false;
  std::optional<store::MessageRecord> message_;
  // Shared, because a line that is being logged may outlive the service.
  const std::shared_ptr<live::Topic<int>> lines_ = std::make_shared<live::Topic<int>>();
};

}  // namespace

std::unique_ptr<Service> MakeMasterService(CallPipeline& calls, engine::Engine& engine,
                                           store::Store& store, base::ThreadPool& pool,
                                           base::EventLoop& loop, const base::Clock& clock,
                                           const MasterInfo& info) {
  return std::make_unique<MasterService>(calls, engine, store, pool, loop, clock, info);
}

}  // namespace det::api
