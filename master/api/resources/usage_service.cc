#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/usage.unary.h"
#include "master/api/resources/services.h"
#include "master/api/resources/usage_report.h"
#include "master/api/rpc/api_service.h"

namespace det::api {
namespace {

class UsageService final : public ApiService<v1::UsageService> {
 public:
  UsageService(CallPipeline& calls, store::Store& store, const base::Clock& clock)
      : ApiService(calls), store_(store), clock_(clock) {}

  grpc::ServerUnaryReactor* ResourceAllocationRaw(
      grpc::CallbackServerContext* context, const v1::ResourceAllocationRawRequest* request,
      v1::ResourceAllocationRawResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(*response, Raw(caller, *request));
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* GetCapacity(grpc::CallbackServerContext* context,
                                        const v1::GetCapacityRequest* request,
                                        v1::GetCapacityResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const UsageSpan span, ParseSpan(*request));
                   DET_ASSIGN_OR_RETURN(const auto capacity,
                                        store_.usage().ListCapacity(span.from, span.until));
                   *response = MakeCapacityReport(capacity);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* ResourceAllocationAggregated(
      grpc::CallbackServerContext* context, const v1::ResourceAllocationAggregatedRequest* request,
      v1::ResourceAllocationAggregatedResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(*response, Aggregated(caller, *request));
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* ExportResourceAllocationRaw(
      grpc::CallbackServerContext* context, const v1::ResourceAllocationRawRequest* request,
      google::api::HttpBody* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto report, Raw(caller, *request));
                   SetCsv(ToCsv(report), response);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* ExportAllocations(grpc::CallbackServerContext* context,
                                              const v1::ResourceAllocationRawRequest* request,
                                              google::api::HttpBody* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto report, Raw(caller, *request));
                   SetCsv(ToAllocationsCsv(report), response);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* ExportResourceAllocationAggregated(
      grpc::CallbackServerContext* context, const v1::ResourceAllocationAggregatedRequest* request,
      google::api::HttpBody* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto report, Aggregated(caller, *request));
                   SetCsv(ToCsv(report), response);
                   return absl::OkStatus();
                 });
  }

 private:
  static void SetCsv(std::string csv, google::api::HttpBody* body) {
    body->set_content_type("text/csv; charset=utf-8");
    body->set_data(std::move(csv));
  }

  // Usage of the workspaces that the caller can see. Usage of deleted workspaces has no workspace.
  absl::StatusOr<std::vector<store::UsageRecord>> Read(const auth::Principal& caller,
                                                       const UsageSpan& span) {
    DET_ASSIGN_OR_RETURN(auto usage, store_.usage().ListUsage(span.from, span.until));
    std::erase_if(usage, [&](const store::UsageRecord& record) {
      return !caller.Holds(model::Permission::kViewExperimentMetadata, record.workspace_id);
    });
    return usage;
  }

  absl::StatusOr<v1::ResourceAllocationRawResponse> Raw(
      const auth::Principal& caller, const v1::ResourceAllocationRawRequest& request) {
    DET_ASSIGN_OR_RETURN(const UsageSpan span, ParseSpan(request));
    DET_ASSIGN_OR_RETURN(const auto usage, Read(caller, span));
    return MakeRawReport(usage, span, clock_.Now());
  }

  absl::StatusOr<v1::ResourceAllocationAggregatedResponse> Aggregated(
      const auth::Principal& caller, const v1::ResourceAllocationAggregatedRequest& request) {
    DET_ASSIGN_OR_RETURN(const UsageSpan span, ParseSpan(request));
    const bool monthly = request.period() == v1::RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY;
    const absl::Time now = clock_.Now();
    const std::string key = MakeCacheKey(caller, request);
    // Concurrent callers of the same report wait for the first one.
    std::lock_guard lock(mutex_);
    std::erase_if(cache_, [now](const auto& item) { return item.second.until <= now; });
    const auto cached = cache_.find(key);
    if (cached != cache_.end()) return cached->second.report;
    DET_ASSIGN_OR_RETURN(const auto usage, Read(caller, span));
    auto report = MakeAggregatedReport(usage, span, monthly, now);
    if (usage.size() > kMinCachedRecords) cache_[key] = {now + absl::Minutes(1), report};
    return report;
  }

  // A report depends on the request and on the workspaces that the caller can see.
  static std::string MakeCacheKey(const auth::Principal& caller,
                                  const v1::ResourceAllocationAggregatedRequest& request) {
    std::string key = request.SerializeAsString();
    const auto visible = caller.Visible(model::Permission::kViewExperimentMetadata);
    if (!visible) return key;
    absl::StrAppend(&key, "\n");
    for (const int32_t workspace : *visible) absl::StrAppend(&key, workspace, ",");
    return key;
  }

  // A report with more records is cached for a minute.
  static constexpr size_t kMinCachedRecords = 10'000;
  struct CachedReport {
    absl::Time until;
    v1::ResourceAllocationAggregatedResponse report;
  };

  store::Store& store_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, CachedReport> cache_;
};

}  // namespace

std::unique_ptr<Service> MakeUsageService(CallPipeline& calls, store::Store& store,
                                          const base::Clock& clock) {
  return std::make_unique<UsageService>(calls, store, clock);
}

}  // namespace det::api
