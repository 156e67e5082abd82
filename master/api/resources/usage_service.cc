#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/usage.pb.h"
#include "master/api/resources/services.h"
#include "master/api/resources/usage_report.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"

namespace det::api {
namespace {

class UsageService final : public Service {
 public:
  explicit UsageService(const Edge& edge) : Service("det.api.v1.UsageService"), edge_(edge) {
    Serve("ResourceAllocationRaw", &UsageService::ResourceAllocationRaw);
    Serve("GetCapacity", &UsageService::GetCapacity);
    Serve("ResourceAllocationAggregated", &UsageService::ResourceAllocationAggregated);
    Serve("ExportResourceAllocationRaw", &UsageService::ExportResourceAllocationRaw);
    Serve("ExportAllocations", &UsageService::ExportAllocations);
    Serve("ExportResourceAllocationAggregated", &UsageService::ExportResourceAllocationAggregated);
  }

  grpc::ServerUnaryReactor* ResourceAllocationRaw(grpc::CallbackServerContext* context,
                                                  const v1::ResourceAllocationRawRequest* request,
                                                  v1::ResourceAllocationRawResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.UsageService.ResourceAllocationRaw",
                    [this, request, response](const auth::Principal& caller) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(*response, Raw(caller, *request));
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* GetCapacity(grpc::CallbackServerContext* context,
                                        const v1::GetCapacityRequest* request,
                                        v1::GetCapacityResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.UsageService.GetCapacity",
                    [this, request, response](const auth::Principal&) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const UsageSpan span, SpanOf(*request));
                      DET_ASSIGN_OR_RETURN(const auto capacity, edge_.store->usage().ListCapacity(
                                                                    span.from, span.until));
                      *response = CapacityReport(capacity);
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* ResourceAllocationAggregated(
      grpc::CallbackServerContext* context, const v1::ResourceAllocationAggregatedRequest* request,
      v1::ResourceAllocationAggregatedResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.UsageService.ResourceAllocationAggregated",
                    [this, request, response](const auth::Principal& caller) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(*response, Aggregated(caller, *request));
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* ExportResourceAllocationRaw(
      grpc::CallbackServerContext* context, const v1::ResourceAllocationRawRequest* request,
      google::v1::HttpBody* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.UsageService.ExportResourceAllocationRaw",
                    [this, request, response](const auth::Principal& caller) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const auto report, Raw(caller, *request));
                      Fill(ToCsv(report), response);
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* ExportAllocations(grpc::CallbackServerContext* context,
                                              const v1::ResourceAllocationRawRequest* request,
                                              google::v1::HttpBody* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.UsageService.ExportAllocations",
                    [this, request, response](const auth::Principal& caller) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const auto report, Raw(caller, *request));
                      Fill(ToAllocationsCsv(report), response);
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* ExportResourceAllocationAggregated(
      grpc::CallbackServerContext* context, const v1::ResourceAllocationAggregatedRequest* request,
      google::v1::HttpBody* response) {
    return UnaryNow(edge_, context, request,
                    "det.api.v1.UsageService.ExportResourceAllocationAggregated",
                    [this, request, response](const auth::Principal& caller) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const auto report, Aggregated(caller, *request));
                      Fill(ToCsv(report), response);
                      return absl::OkStatus();
                    });
  }

 private:
  static void Fill(std::string csv, google::v1::HttpBody* body) {
    body->set_content_type("text/csv; charset=utf-8");
    body->set_data(std::move(csv));
  }

  // Of the workspaces that the caller may see; what was deleted lies in none.
  absl::StatusOr<std::vector<store::UsageRecord>> Read(const auth::Principal& caller,
                                                       const UsageSpan& span) {
    DET_ASSIGN_OR_RETURN(auto usage, edge_.store->usage().ListUsage(span.from, span.until));
    std::erase_if(
        usage, [&](const store::UsageRecord& record) { return !caller.Sees(record.workspace_id); });
    return usage;
  }

  absl::StatusOr<v1::ResourceAllocationRawResponse> Raw(
      const auth::Principal& caller, const v1::ResourceAllocationRawRequest& request) {
    DET_ASSIGN_OR_RETURN(const UsageSpan span, SpanOf(request));
    DET_ASSIGN_OR_RETURN(const auto usage, Read(caller, span));
    return RawReport(usage, span, edge_.clock->Now());
  }

  absl::StatusOr<v1::ResourceAllocationAggregatedResponse> Aggregated(
      const auth::Principal& caller, const v1::ResourceAllocationAggregatedRequest& request) {
    DET_ASSIGN_OR_RETURN(const UsageSpan span, SpanOf(request));
    const bool monthly = request.period() == v1::RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY;
    const absl::Time now = edge_.clock->Now();
    const std::string key = KeyOf(caller, request);
    // Who asks the same meanwhile waits for the one report.
    std::lock_guard lock(mutex_);
    std::erase_if(kept_, [now](const auto& item) { return item.second.until <= now; });
    const auto kept = kept_.find(key);
    if (kept != kept_.end()) return kept->second.report;
    DET_ASSIGN_OR_RETURN(const auto usage, Read(caller, span));
    auto report = AggregatedReport(usage, span, monthly, now);
    if (usage.size() > kLarge) kept_[key] = {now + absl::Minutes(1), report};
    return report;
  }

  // What decides what is in a report: the request, and what its caller may see.
  static std::string KeyOf(const auth::Principal& caller,
                           const v1::ResourceAllocationAggregatedRequest& request) {
    std::string key = request.SerializeAsString();
    const auto visible = caller.Visible();
    if (!visible) return key;
    absl::StrAppend(&key, "\n");
    for (const int32_t workspace : *visible) absl::StrAppend(&key, workspace, ",");
    return key;
  }

  // A report over so many pieces is good for a minute.
  static constexpr size_t kLarge = 10'000;
  struct Kept {
    absl::Time until;
    v1::ResourceAllocationAggregatedResponse report;
  };

  const Edge& edge_;
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;
};

}  // namespace

std::unique_ptr<Service> MakeUsageService(const Edge& edge) {
  return std::make_unique<UsageService>(edge);
}

}  // namespace det::api
