#include "trial_api/cpp/core/report.h"

#include <chrono>
#include <string>
#include <variant>

#include "trial_api/cpp/core/error.h"
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

namespace det::core {
namespace {

namespace pb = ::det::trial::v1;

constexpr char kMetrics = 'm';
constexpr char kCheckpoint = 'c';

using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;
using std::chrono::microseconds;
using std::chrono::system_clock;

Timestamp ToProto(system_clock::time_point time) {
  return TimeUtil::MicrosecondsToTimestamp(
      std::chrono::duration_cast<microseconds>(time.time_since_epoch()).count());
}

system_clock::time_point FromProto(const Timestamp& time) {
  return system_clock::time_point(microseconds(TimeUtil::TimestampToMicroseconds(time)));
}

template <class Message>
Message Parse(std::string_view bytes) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return message;
  throw Error("invalid record in the outbox: not a report");
}

template <class Message>
std::string WithKind(char kind, const Message& message) {
  std::string record(1, kind);
  message.AppendToString(&record);
  return record;
}

MetricReport ReadMetrics(std::string_view bytes) {
  const auto message = Parse<pb::MetricReport>(bytes);
  MetricReport report;
  report.group = message.group();
  report.steps_completed = message.steps_completed();
  report.time = FromProto(message.report_time());
  for (const auto& [name, value] : message.metrics().fields()) {
    report.metrics[name] = value.number_value();
  }
  return report;
}

CheckpointReport ReadCheckpoint(std::string_view bytes) {
  const auto message = Parse<pb::ReportCheckpointRequest>(bytes);
  CheckpointReport report;
  report.uuid = message.uuid();
  report.steps_completed = message.steps_completed();
  report.time = FromProto(message.report_time());
  report.damage = message.damage();
  report.instead = message.instead();
  report.resources.insert(message.resources().begin(), message.resources().end());
  if (!google::protobuf::util::MessageToJsonString(message.metadata(), &report.metadata_json)
           .ok()) {
    throw Error("the metadata of checkpoint " + report.uuid + " in the outbox is damaged");
  }
  return report;
}

}  // namespace

pb::MetricReport ToProto(const MetricReport& report) {
  pb::MetricReport message;
  message.set_group(report.group);
  message.set_steps_completed(static_cast<int32_t>(report.steps_completed));
  *message.mutable_report_time() = ToProto(report.time);
  auto& fields = *message.mutable_metrics()->mutable_fields();
  for (const auto& [name, value] : report.metrics) fields[name].set_number_value(value);
  return message;
}

pb::ReportCheckpointRequest ToProto(const CheckpointReport& report) {
  pb::ReportCheckpointRequest message;
  message.set_uuid(report.uuid);
  message.set_steps_completed(static_cast<int32_t>(report.steps_completed));
  message.set_damage(report.damage);
  message.set_instead(report.instead);
  message.mutable_resources()->insert(report.resources.begin(), report.resources.end());
  *message.mutable_report_time() = ToProto(report.time);
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(report.metadata_json, message.mutable_metadata());
  if (!parsed.ok()) throw Error("metadata of checkpoint " + report.uuid + ": not a JSON object");
  return message;
}

std::string Encode(const MetricReport& report) { return WithKind(kMetrics, ToProto(report)); }

std::string Encode(const CheckpointReport& report) {
  return WithKind(kCheckpoint, ToProto(report));
}

std::variant<MetricReport, CheckpointReport> DecodeReport(std::string_view record) {
  const char kind = record.empty() ? '\0' : record.front();
  if (kind == kMetrics) return ReadMetrics(record.substr(1));
  if (kind == kCheckpoint) return ReadCheckpoint(record.substr(1));
  throw Error("invalid record in the outbox: not a report");
}

}  // namespace det::core
