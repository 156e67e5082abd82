// What a run tells the master of its training: as values, as messages of det.trial.v1, and as the
// bytes that the outbox keeps (a letter for the kind, then the message). Pure; any thread.
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
  std::map<std::string, int64_t> resources;  // bytes of each file
  std::string metadata_json;                 // an object
  std::chrono::system_clock::time_point time;
  // What is wrong with its files, as seen on load; then the run goes on from `instead`, of which
  // the steps are. Empty: it is new and whole.
  std::string damage = {};
  std::string instead = {};
};

det::trial::v1::MetricReport ToProto(const MetricReport& report);
// Without the allocation and the trial. Throws Error when the metadata is no JSON object.
det::trial::v1::ReportCheckpointRequest ToProto(const CheckpointReport& report);

std::string Encode(const MetricReport& report);
std::string Encode(const CheckpointReport& report);
// Throws Error when it is none of Encode()'s.
std::variant<MetricReport, CheckpointReport> DecodeReport(std::string_view record);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_REPORT_H_
