// Usage reports: the slots that were held in a time span, per allocation or summed by day or month,
// as messages and as CSV. Times without a zone, days and months are in UTC.
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
  absl::Time until;  // exclusive
};

// Returns INVALID_ARGUMENT for an invalid time, and for an end that is not after the start.
absl::StatusOr<UsageSpan> ParseSpan(const v1::ResourceAllocationRawRequest& request);
absl::StatusOr<UsageSpan> ParseSpan(const v1::GetCapacityRequest& request);
// The span consists of whole days or months.
absl::StatusOr<UsageSpan> ParseSpan(const v1::ResourceAllocationAggregatedRequest& request);

// Usage that has not ended counts until `now`.
v1::ResourceAllocationRawResponse MakeRawReport(const std::vector<store::UsageRecord>& usage,
                                                const UsageSpan& span, absl::Time now);
// Periods without usage are left out.
v1::ResourceAllocationAggregatedResponse MakeAggregatedReport(
    const std::vector<store::UsageRecord>& usage, const UsageSpan& span, bool monthly,
    absl::Time now);

v1::GetCapacityResponse MakeCapacityReport(const std::vector<store::CapacityRecord>& capacity);

// The first line has the column names; lines end with "\n".
std::string ToCsv(const v1::ResourceAllocationRawResponse& report);
std::string ToCsv(const v1::ResourceAllocationAggregatedResponse& report);
// One line per allocation, in slot-hours.
std::string ToAllocationsCsv(const v1::ResourceAllocationRawResponse& report);

}  // namespace det::api

#endif  // MASTER_API_RESOURCES_USAGE_REPORT_H_
