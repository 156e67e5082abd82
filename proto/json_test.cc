// Compares WriteJson with protobuf's own conversion, for every message of the API filled at random;
// values without JSON form must be errors in both.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "proto/det/api/v1/auth.pb.h"
#include "proto/det/api/v1/experiment.pb.h"
#include "proto/det/api/v1/master.pb.h"
#include "proto/det/trial/v1/trial.pb.h"
#include "proto/http_rule.h"
#include "proto/json_writer.h"
#include <nlohmann/json.hpp>

namespace det::proto {
namespace {

namespace pb = google::protobuf;
using Json = nlohmann::json;

std::string ByLibrary(const pb::Message& message) {
  pb::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = pb::util::MessageToJsonString(message, &json, options);
  return status.ok() ? json : status.ToString();
}

class Filler {
 public:
  explicit Filler(uint64_t seed) : rng_(seed) {}

  void Fill(pb::Message* message, int depth = 0) {
    if (message->GetDescriptor()->full_name() == "google.protobuf.Timestamp") {
      auto* const time = static_cast<pb::Timestamp*>(message);
      time->set_seconds(rng_.UniformInt(-62135596800, 253402300799));
      const int64_t parts[] = {0, 5000000, 5000, 5};
      time->set_nanos(static_cast<int32_t>(parts[rng_.UniformInt(0, 3)]));
      return;
    }
    const pb::Descriptor& type = *message->GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const pb::FieldDescriptor& field = *type.field(i);
      const bool whole = type.options().map_entry();  // without a value, the two differ
      if (!whole && rng_.UniformInt(0, 2) == 0) continue;
      const bool deep = field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE && depth > 4;
      if (!whole && deep) continue;
      const int64_t count = field.is_map() ? 1 : field.is_repeated() ? rng_.UniformInt(0, 3) : 1;
      for (int64_t n = 0; n < count; ++n) FillField(message, field, depth);
    }
    // An empty Value is an error in one of the two.
    if (type.full_name() == "google.protobuf.Value") {
      auto* const value = static_cast<pb::Value*>(message);
      if (value->kind_case() == pb::Value::KIND_NOT_SET) value->set_bool_value(true);
    }
  }

 private:
  std::string Text() {
    static const std::vector<std::string> kTexts = {
        "", "a", "\"\\/\b\f\n\r\t\x01\x7f", "<b>&'</b>", "ä€😀\xe2\x80\xa8", std::string(1, '\0')};
    return kTexts[static_cast<size_t>(rng_.UniformInt(0, 5))] + std::to_string(rng_.Next() % 7);
  }
  // Protobuf writes up to nine digits of a float, WriteJson as few as distinguish it from its
  // neighbors.
  float Eighths() { return static_cast<float>(rng_.UniformInt(-800, 800)) / 8; }
  double Real() {
    static constexpr double kReals[] = {0,    -0.0, 1,     0.1,  1e15, 1e5,    123456789,
                                        1e-7, 1e22, 1e300, -2.5, 1e16, 5e-324, 1.0 / 3};
    return rng_.UniformInt(0, 3) == 0 ? rng_.Normal() : kReals[rng_.UniformInt(0, 13)];
  }

  void FillField(pb::Message* message, const pb::FieldDescriptor& field, int depth) {
    const pb::Reflection& reflection = *message->GetReflection();
    const bool many = field.is_repeated();
    const auto whole = static_cast<int64_t>(rng_.Next());
#define DET_FILL(kind, value) \
  many ? reflection.Add##kind(message, &field, value) : reflection.Set##kind(message, &field, value)
    switch (field.cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_INT32:
        DET_FILL(Int32, static_cast<int32_t>(whole));
        break;
      case pb::FieldDescriptor::CPPTYPE_INT64:
        DET_FILL(Int64, whole);
        break;
      case pb::FieldDescriptor::CPPTYPE_UINT32:
        DET_FILL(UInt32, static_cast<uint32_t>(whole));
        break;
      case pb::FieldDescriptor::CPPTYPE_UINT64:
        DET_FILL(UInt64, static_cast<uint64_t>(whole));
        break;
      case pb::FieldDescriptor::CPPTYPE_DOUBLE:
        DET_FILL(Double, Real());
        break;
      case pb::FieldDescriptor::CPPTYPE_FLOAT:
        DET_FILL(Float, Eighths());
        break;
      case pb::FieldDescriptor::CPPTYPE_BOOL:
        DET_FILL(Bool, whole % 2 == 0);
        break;
      case pb::FieldDescriptor::CPPTYPE_ENUM:
        DET_FILL(EnumValue, static_cast<int>(rng_.UniformInt(0, 3)));
        break;
      case pb::FieldDescriptor::CPPTYPE_STRING:
        DET_FILL(String, Text());
        break;
      case pb::FieldDescriptor::CPPTYPE_MESSAGE:
        Fill(many ? reflection.AddMessage(message, &field)
                  : reflection.MutableMessage(message, &field),
             depth + 1);
    }
#undef DET_FILL
  }

  base::Rng rng_;
};

// All messages of three files: experiments, master, trial runtime.
std::vector<const pb::Descriptor*> ApiMessages() {
  std::vector<const pb::Descriptor*> messages;
  std::vector<const pb::FileDescriptor*> files = {
      api::v1::GetExperimentResponse::descriptor()->file(),
      api::v1::GetMasterResponse::descriptor()->file(),
      trial::v1::ReportMetricsRequest::descriptor()->file()};
  for (size_t i = 0; i < files.size(); ++i) {
    for (int j = 0; j < files[i]->message_type_count(); ++j) {
      messages.push_back(files[i]->message_type(j));
    }
  }
  return messages;
}

TEST(WriteJsonTest, MatchesProtobuf) {
  size_t compared = 0;
  for (const pb::Descriptor* type : ApiMessages()) {
    const pb::Message& prototype = *pb::MessageFactory::generated_factory()->GetPrototype(type);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const std::unique_ptr<pb::Message> message(prototype.New());
      Filler(seed).Fill(message.get());
      const auto ours = WriteJson(*message);
      ASSERT_TRUE(ours.ok()) << type->full_name() << " seed " << seed << ": " << ours.status();
      const Json read = Json::parse(*ours, nullptr, /*allow_exceptions=*/false);
      ASSERT_FALSE(read.is_discarded()) << *ours;
      ASSERT_EQ(read, Json::parse(ByLibrary(*message)))
          << type->full_name() << " seed " << seed << "\n"
          << *ours << "\n"
          << ByLibrary(*message);
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000u);
}

TEST(WriteJsonTest, WritesNumbersAsClientsExpect) {
  pb::Value value;
  for (const auto& [number, text] : std::vector<std::pair<double, std::string>>{
           {0, "0"},
           {-0.0, "-0"},
           {1, "1"},
           {100000, "100000"},
           {123456789012345, "123456789012345"},
           {0.1, "0.1"},
           {1.0 / 3, "0.3333333333333333"},
           {0.0001, "0.0001"},
           {0.00001, "1e-05"},
           {1e15, "1e+15"},
           {123456789.125, "123456789.125"},
           {1e22, "1e+22"},
           {std::numeric_limits<double>::infinity(), "\"Infinity\""},
           {-std::numeric_limits<double>::infinity(), "\"-Infinity\""},
           {std::numeric_limits<double>::quiet_NaN(), "\"NaN\""}}) {
    value.set_number_value(number);
    EXPECT_EQ(WriteJson(value).value_or("?"), text);
  }
}

TEST(WriteResponseJsonTest, WritesKnownPartsAsTheyAre) {
  api::v1::GetExperimentResponse response;
  WrittenParts written;
  {
    api::v1::Experiment experiment;
    experiment.set_id(3);
    written.Set(*experiment.mutable_config(),
                std::make_shared<const std::string>(R"({"name":"a","x":[1]})"));
    *response.mutable_experiment() = std::move(experiment);
  }
  const Json json = Json::parse(*WriteResponseJson(response, &written));
  EXPECT_EQ(json["experiment"]["id"], 3);
  EXPECT_EQ(json["experiment"]["config"], Json::parse(R"({"name":"a","x":[1]})"));
  EXPECT_EQ(Json::parse(*WriteResponseJson(response))["experiment"]["config"], Json::object());
}

TEST(WriteResponseJsonTest, WritesUnsetMessagesAsNull_UnlessTheyAreOptional) {
  api::v1::GetClusterMessageResponse none;
  EXPECT_EQ(WriteResponseJson(none).value_or("?"), R"({"clusterMessage":null})");
  EXPECT_EQ(WriteJson(none).value_or("?"), "{}");
  none.mutable_cluster_message();
  EXPECT_EQ(
      WriteResponseJson(none).value_or("?"),
      R"({"clusterMessage":{"message":"","startTime":null,"endTime":null,"createdTime":null}})");
  api::v1::Experiment experiment;  // its best trial is an optional number
  const Json json = Json::parse(*WriteResponseJson(experiment));
  EXPECT_TRUE(json.at("endTime").is_null());
  EXPECT_FALSE(json.contains("bestTrialId"));
  const Json user = Json::parse(*WriteResponseJson(api::v1::User()));
  EXPECT_TRUE(user.at("agentUserGroup").is_null());
  EXPECT_FALSE(user.contains("lastAuthAt"));
}

TEST(WriteJsonTest, WritesMapKeysInOrder) {
  pb::Struct value;
  for (const char* name : {"b", "a", "c"}) (*value.mutable_fields())[name].set_bool_value(true);
  EXPECT_EQ(WriteJson(value).value_or("?"), R"({"a":true,"b":true,"c":true})");
}

TEST(WriteJsonTest, ReturnsError_WhenValueHasNoJsonForm) {
  pb::Timestamp late;
  late.set_seconds(253402300800);
  EXPECT_EQ(WriteJson(late).status().code(), absl::StatusCode::kInternal);
  pb::Value text;
  text.set_string_value("\xff");
  EXPECT_EQ(WriteJson(text).status().code(), absl::StatusCode::kInternal);
  pb::Value deep;
  pb::Value* inner = &deep;
  for (int i = 0; i < 500; ++i) inner = inner->mutable_list_value()->add_values();
  inner->set_bool_value(true);
  EXPECT_EQ(WriteJson(deep).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace det::proto
