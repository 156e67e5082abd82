// The reports of a run: as values, as messages of det.trial.v1, and in the format of the outbox (a
// letter for the kind, then the message). Pure; any thread.
#ifndef TRIAL_API_CPP_CORE_REPORT_H_
#define TRIAL_API_CPP_CORE_REPORT_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "det/trial/v1/trial.pb.h"
#include "trial_api/cpp/core/metrics.h"

namespace det::core {

struct MetricReport {
  std::string group;
  int64_t steps_completed = 0;
  MetricMap metrics;
  std::chrono::system_clock::time_point time;
};

struct CheckpointReport {
  std::string uuid;
  int64_t steps_completed = 0;
  std::map<std::string, int64_t> resources;  // file -> size in bytes
  std::string metadata_json;                 // a JSON object
  std::chrono::system_clock::time_point time;
  // If not empty: the damage that was found when the checkpoint was loaded; the run continues from
  // the checkpoint `instead`, to which steps_completed refers.
  std::string damage = {};
  std::string instead = {};
};

det::trial::v1::MetricReport ToProto(const MetricReport& report);
// Does not set allocation and trial. Throws Error if the metadata is not a JSON object.
det::trial::v1::ReportCheckpointRequest ToProto(const CheckpointReport& report);

std::string Encode(const MetricReport& report);
std::string Encode(const CheckpointReport& report);
// Throws Error if `record` was not produced by Encode().
std::variant<MetricReport, CheckpointReport> DecodeReport(std::string_view record);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_REPORT_H_
