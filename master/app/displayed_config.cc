// The configuration as administrators see it.
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "master/app/config_fields.h"
#include "master/core/model/fields.h"

namespace det::app {
namespace {

using model::Field;
using model::Value;
using Role = Field::Role;

// Fields that are not stored as written: they are combined with others or have another form.
bool IsKept(std::string_view path) {
  return path != "topology" && !path.ends_with("task_container_defaults") &&
         path != "resource_manager.scheduler" && path != "logging" &&
         path != "resource_manager.no_default_resource_pools" &&
         path != "security.initial_user_password_file" &&
         (!path.starts_with("db.") || path == "db.url");
}

Value Members(const std::string& path, FileConfig& config, size_t item) {
  Value::Object object;
  for (const Field* field : ConfigFields().At(path)) {
    if (field->role == Role::kIgnored || field->role == Role::kRemoved || !IsKept(field->path)) {
      continue;
    }
    Value& member = object[field->path + path.size()];
    if (field->role == Role::kSection) {
      member = Members(absl::StrCat(field->path, "."), config, item);
      if (member.AsObject()->empty()) object.erase(field->path + path.size());
      continue;
    }
    const model::FieldTarget target = field->target(&config, item);
    if (field->role != Role::kList) {
      member = model::ValueAt(*field, target);
      const std::string* text = member.AsString();
      if (field->secret && text != nullptr && !text->empty()) member = "********";
      continue;
    }
    const auto& list = std::get<model::ListTarget>(target);
    Value::List items;
    for (size_t i = 0; i < list.size(list.list); ++i) {
      items.push_back(Members(absl::StrCat(field->path, "[]."), config, i));
    }
    member = std::move(items);
  }
  return object;
}

}  // namespace

Value ToDisplayedConfig(const Config& config) {
  FileConfig file;
  file.config = config;
  Value::Object object = *Members("", file, 0).AsObject();
  const auto find_task_defaults = [&config](const std::string& pool) {
    const auto found = config.displayed_task_defaults.find(pool);
    return found == config.displayed_task_defaults.end() ? Value() : found->second;
  };
  // What existing clients find without an entry in the file.
  Value::Object task_defaults = {
      {"bind_mounts", Value()},
      {"log_policies", Value()},
      {"preemption_timeout",
       model::FieldValue(*model::FindField("preemption_timeout"), model::ExperimentConfig())}};
  const Value given = find_task_defaults("");
  if (const Value::Object* members = given.AsObject()) {
    for (const auto& [key, value] : *members) task_defaults[key] = value;
  }
  object["task_container_defaults"] = std::move(task_defaults);
  Value::List pools = *object["resource_pools"].AsList();
  for (Value& pool : pools) {
    Value::Object members = *pool.AsObject();
    const std::string* name = members["pool_name"].AsString();
    members["task_container_defaults"] =
        name == nullptr || name->empty() ? Value() : find_task_defaults(*name);
    pool = std::move(members);
  }
  object["resource_pools"] = std::move(pools);
  return object;
}

}  // namespace det::app
