// Usage as reports: what was held within a span, each piece by itself or summed up by day or month,
// as messages and as CSV. Times without a zone, days and months are UTC's.
//
// Called by usage_service.cc, on any thread. Does no I/O.
#ifndef MASTER_API_RESOURCES_USAGE_REPORT_H_
#define MASTER_API_RESOURCES_USAGE_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/api/v1/usage.pb.h"
#include "master/store/interfaces/usage.h"

namespace det::api {

struct UsageSpan {
  absl::Time from;
  absl::Time until;  // the first moment that is not part of it
};

// INVALID_ARGUMENT for a text that is no time, and for an end that does not come after the start.
absl::StatusOr<UsageSpan> SpanOf(const v1::ResourceAllocationRawRequest& request);
absl::StatusOr<UsageSpan> SpanOf(const v1::GetCapacityRequest& request);
// Whole days or months.
absl::StatusOr<UsageSpan> SpanOf(const v1::ResourceAllocationAggregatedRequest& request);

// Of what still runs: until `now`.
v1::ResourceAllocationRawResponse RawReport(const std::vector<store::UsageRecord>& usage,
                                            const UsageSpan& span, absl::Time now);
// Periods without use are left out.
v1::ResourceAllocationAggregatedResponse AggregatedReport(
    const std::vector<store::UsageRecord>& usage, const UsageSpan& span, bool monthly,
    absl::Time now);

v1::GetCapacityResponse CapacityReport(const std::vector<store::CapacityRecord>& capacity);

// With a line of titles; lines end with a newline alone.
std::string ToCsv(const v1::ResourceAllocationRawResponse& report);
std::string ToCsv(const v1::ResourceAllocationAggregatedResponse& report);
// The other CSV of the same: by allocation, in slot-hours.
std::string ToAllocationsCsv(const v1::ResourceAllocationRawResponse& report);

}  // namespace det::api

#endif  // MASTER_API_RESOURCES_USAGE_REPORT_H_
