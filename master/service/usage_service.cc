#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "det/api/v1/usage.grpc.pb.h"
#include "master/service/call.h"
#include "master/service/services.h"
#include "master/service/usage_report.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

class UsageService final : public api::UsageService::CallbackService {
 public:
  explicit UsageService(const Edge& edge) : edge_(edge) {}

  grpc::ServerUnaryReactor* ResourceAllocationRaw(
      grpc::CallbackServerContext* context, const api::ResourceAllocationRawRequest* request,
      api::ResourceAllocationRawResponse* response) override {
    return UnaryNow(edge_, context, request, "det.api.v1.UsageService.ResourceAllocationRaw",
                    [this, request, response](const auth::Principal& caller) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(*response, Raw(caller, *request));
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* ResourceAllocationAggregated(
      grpc::CallbackServerContext* context, const api::ResourceAllocationAggregatedRequest* request,
      api::ResourceAllocationAggregatedResponse* response) override {
    return UnaryNow(edge_, context, request, "det.api.v1.UsageService.ResourceAllocationAggregated",
                    [this, request, response](const auth::Principal& caller) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(*response, Aggregated(caller, *request));
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* ExportResourceAllocationRaw(
      grpc::CallbackServerContext* context, const api::ResourceAllocationRawRequest* request,
      google::api::HttpBody* response) override {
    return UnaryNow(edge_, context, request, "det.api.v1.UsageService.ExportResourceAllocationRaw",
                    [this, request, response](const auth::Principal& caller) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const auto report, Raw(caller, *request));
                      Fill(ToCsv(report), response);
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* ExportAllocations(grpc::CallbackServerContext* context,
                                              const api::ResourceAllocationRawRequest* request,
                                              google::api::HttpBody* response) override {
    return UnaryNow(edge_, context, request, "det.api.v1.UsageService.ExportAllocations",
                    [this, request, response](const auth::Principal& caller) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const auto report, Raw(caller, *request));
                      Fill(ToAllocationsCsv(report), response);
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* ExportResourceAllocationAggregated(
      grpc::CallbackServerContext* context, const api::ResourceAllocationAggregatedRequest* request,
      google::api::HttpBody* response) override {
    return UnaryNow(edge_, context, request,
                    "det.api.v1.UsageService.ExportResourceAllocationAggregated",
                    [this, request, response](const auth::Principal& caller) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const auto report, Aggregated(caller, *request));
                      Fill(ToCsv(report), response);
                      return absl::OkStatus();
                    });
  }

 private:
  static void Fill(std::string csv, google::api::HttpBody* body) {
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

  absl::StatusOr<api::ResourceAllocationRawResponse> Raw(
      const auth::Principal& caller, const api::ResourceAllocationRawRequest& request) {
    DET_ASSIGN_OR_RETURN(const UsageSpan span, SpanOf(request));
    DET_ASSIGN_OR_RETURN(const auto usage, Read(caller, span));
    return RawReport(usage, span, edge_.clock->Now());
  }

  absl::StatusOr<api::ResourceAllocationAggregatedResponse> Aggregated(
      const auth::Principal& caller, const api::ResourceAllocationAggregatedRequest& request) {
    DET_ASSIGN_OR_RETURN(const UsageSpan span, SpanOf(request));
    DET_ASSIGN_OR_RETURN(const auto usage, Read(caller, span));
    const bool monthly = request.period() == api::RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY;
    return AggregatedReport(usage, span, monthly, edge_.clock->Now());
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeUsageService(const Edge& edge) {
  return std::make_unique<UsageService>(edge);
}

}  // namespace det::service
