// The OpenAPI document of the real API.
#include "master/gateway/openapi.h"

#include <set>
#include <string>

#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"
#include "master/gateway/builtin_routes.h"
#include "proto/api_descriptors.h"
#include "proto/http_rule.h"
#include <google/protobuf/descriptor.h>
#include <nlohmann/json.hpp>

namespace det::gateway {
namespace {

using Json = nlohmann::json;

class OpenApiTest : public testing::Test {
 protected:
  void SetUp() override {
    google::protobuf::FileDescriptorSet files;
    const std::string_view bytes = proto::ApiDescriptors();
    ASSERT_TRUE(files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    for (const auto& file : files.file()) {
      ASSERT_NE(pool_.BuildFile(file), nullptr) << file.name();
      for (const auto& service : file.service()) {
        services_.push_back(file.package() + "." + service.name());
      }
    }
    ASSERT_GT(services_.size(), 10u);
    const auto made = MakeOpenApi(
        {.descriptors = bytes,
         .services = services_,
         .version = "1.2.3",
         .open = [](std::string_view method) { return method == "det.api.v1.AuthService.Login"; }});
    ASSERT_TRUE(made.ok()) << made.status();
    document_ = Json::parse(*made);
  }

  // Calls `visit` for every object of the document.
  template <class Visit>
  static void Walk(const Json& node, const Visit& visit) {
    if (node.is_object()) visit(node);
    if (node.is_structured()) {
      for (const Json& child : node) Walk(child, visit);
    }
  }

  google::protobuf::DescriptorPool pool_;
  std::vector<std::string> services_;
  Json document_;
};

TEST_F(OpenApiTest, ContainsEveryMethodAndRule) {
  std::set<std::string> ids;
  size_t operations = 0;
  for (const auto& [path, verbs] : document_["paths"].items()) {
    for (const auto& [verb, operation] : verbs.items()) {
      EXPECT_TRUE(ids.insert(operation["operationId"]).second) << operation["operationId"];
      EXPECT_TRUE(operation["responses"].contains("200")) << path;
      EXPECT_TRUE(operation["responses"].contains("default")) << path;
      ++operations;
    }
  }
  size_t rules = 0;
  for (const std::string& name : services_) {
    const auto* service = pool_.FindServiceByName(name);
    for (int i = 0; i < service->method_count(); ++i) {
      rules += proto::GetPatterns(*service->method(i)).size();
      EXPECT_EQ(ids.count(service->name() + "_" + service->method(i)->name()), 1u)
          << service->method(i)->full_name();
    }
  }
  EXPECT_EQ(operations, rules + GetBuiltinRoutes().size());
  EXPECT_GT(rules, 60u);
}

TEST_F(OpenApiTest, DescribesBuiltinRoutes) {
  for (const BuiltinRoute& route : GetBuiltinRoutes()) {
    const Json& operation = document_["paths"][std::string(route.path)]["get"];
    EXPECT_EQ(operation["summary"], route.summary);
    EXPECT_EQ(operation.contains("security"), route.open) << route.path;
  }
  const Json& streams = document_["paths"]["/api/v1/streams"]["get"];
  EXPECT_EQ(streams["parameters"][0]["name"], "of");
  EXPECT_TRUE(streams["responses"]["200"]["content"].contains("text/event-stream"));
  EXPECT_TRUE(document_["paths"].contains("/checkpoints/{checkpoint_uuid}"));
  EXPECT_TRUE(document_["paths"].contains("/task-logs"));
}

TEST_F(OpenApiTest, ResolvesEveryReference) {
  int references = 0;
  Walk(document_, [&](const Json& node) {
    if (!node.contains("$ref")) return;
    const std::string target = node["$ref"];
    ASSERT_EQ(target.substr(0, 2), "#/");
    EXPECT_TRUE(document_.contains(Json::json_pointer(target.substr(1)))) << target;
    ++references;
  });
  EXPECT_GT(references, 100);
}

TEST_F(OpenApiTest, DescribesPathAndQueryParameters) {
  std::set<std::string> shapes;
  for (const auto& [path, verbs] : document_["paths"].items()) {
    std::set<std::string> in_template;
    std::string shape;
    for (size_t i = 0; i < path.size(); ++i) {
      shape += path[i];
      if (path[i] != '{') continue;
      const size_t end = path.find('}', i);
      const std::string name = path.substr(i + 1, end - i - 1);
      EXPECT_TRUE(in_template.insert(name).second) << path;
      EXPECT_EQ(name.find('.'), std::string::npos) << path;
      i = end - 1;
    }
    EXPECT_TRUE(shapes.insert(shape).second)
        << path << " differs from another path only in parameter names";
    for (const auto& [verb, operation] : verbs.items()) {
      std::set<std::string> declared;
      std::set<std::string> all;
      for (const Json& parameter : operation["parameters"]) {
        EXPECT_TRUE(parameter.contains("schema")) << path;
        EXPECT_TRUE(
            all.insert(parameter["in"].get<std::string>() + parameter["name"].dump()).second)
            << path << " " << parameter;
        if (parameter["in"] != "path") continue;
        declared.insert(parameter["name"]);
        EXPECT_TRUE(parameter["required"]) << path;
      }
      EXPECT_EQ(declared, in_template) << verb << " " << path;
      EXPECT_FALSE(verb == "get" && operation.contains("requestBody")) << path;
    }
  }
}

TEST_F(OpenApiTest, UsesCommentsOfProtos) {
  const Json& login = document_["paths"]["/api/v1/auth/login"]["post"];
  EXPECT_NE(login["description"].get<std::string>().find("wrong password"), std::string::npos);
  EXPECT_EQ(login["security"], Json::array());
  EXPECT_EQ(login["requestBody"]["content"]["application/json"]["schema"]["$ref"],
            "#/components/schemas/LoginRequest");
  EXPECT_FALSE(document_["paths"]["/api/v1/me"]["get"].contains("security"));
  EXPECT_EQ(document_["security"][0]["token"], Json::array());
  const Json& file = document_["components"]["schemas"]["File"]["properties"];
  EXPECT_EQ(file["content"]["contentEncoding"], "base64");
  EXPECT_EQ(file["mtime"]["description"], "seconds since 1970");
  EXPECT_EQ(document_["components"]["schemas"]["LogLevel"]["enum"][0], "LOG_LEVEL_UNSPECIFIED");
  EXPECT_EQ(document_["info"]["version"], "1.2.3");
}

TEST(OpenApiErrorTest, RejectsInvalidDescriptors) {
  EXPECT_EQ(MakeOpenApi({.descriptors = "\xff\xff"}).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace det::gateway
