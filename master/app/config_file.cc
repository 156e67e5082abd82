#include "master/app/config_file.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "master/app/config_fields.h"
#include "master/core/model/permission.h"
#include "master/core/model/role.h"
#include "master/parse/config_node.h"
#include "master/parse/problems.h"
#include "master/parse/read.h"
#include "master/parse/task_defaults.h"
#include "master/webhooks/address_rules.h"

namespace det::app {
namespace {

using model::ConfigMember;
using model::ConfigNode;
using model::Problem;

// Checks rules between fields and computes derived values.
class Rules {
 public:
  Rules(const ConfigNode& root, FileConfig& file, std::vector<Problem>& problems,
        std::vector<Problem>& warnings)
      : root_(root), file_(file), problems_(problems), warnings_(warnings) {}

  void Check() {
    CheckPaths();
    CheckStorage();
    CheckTaskDefaults();
    CheckDatabase();
    CheckLease();
    CheckPassword();
    CheckUnsupported();
    CheckCreatorRole();
    if (CheckPools()) {
      CheckDefaultPool("default_compute_resource_pool", file_.config.default_compute_pool);
      CheckDefaultPool("default_aux_resource_pool", file_.config.default_aux_pool);
    }
    CheckQuotas();
    CheckTopology();
    CheckOrigins();
    CheckWebhooks();
  }

 private:
  void Add(const std::string& path, std::string text) {
    const ConfigNode* node = root_.FindPath(path);
    problems_.push_back({node == nullptr ? root_.where : node->where, path, std::move(text)});
  }
  // Adds a problem at the i-th item of a list.
  void AddItem(const std::string& list, size_t i, const std::string& member, std::string text) {
    const ConfigNode& item = root_.Find(list)->items.at(i);
    const ConfigNode* node = item.Find(member);
    problems_.push_back({node == nullptr ? item.where : node->where,
                         absl::StrCat(list, "[", i, "]", member.empty() ? "" : ".", member),
                         std::move(text)});
  }
  bool IsGiven(std::string_view path) const { return root_.FindPath(path) != nullptr; }

  void CheckPaths() {
    const Config& config = file_.config;
    for (const std::string& root : config.checkpoint_roots) {
      const std::string kind = root.substr(0, root.find("://") + 1);
      const bool url = kind == "s3:" || kind == "gcs:" || kind == "azure:" || kind == "http:" ||
                       kind == "https:";
      if (root.starts_with('/') || url) continue;
      Add("checkpoint_roots",
          absl::StrCat("\"", root,
                       "\" is relative; start it with /, or name a bucket such as "
                       "s3://NAME or a server such as https://HOST:PORT"));
    }
    if (IsGiven("data_dir") && config.data_dir.empty()) Add("data_dir", "is empty");
  }

  void CheckStorage() {
    model::CheckpointStorageConfig& storage = file_.config.checkpoint_storage;
    const bool folder = storage.type == "shared_fs";
    if (folder && !IsGiven("checkpoint_storage.host_path") && storage.host_path.empty()) {
      // The default pool is not known yet; any pool is good enough for these checks.
      model::CheckpointStorageConfig below = storage;
      below.host_path = "/checkpoints";
      model::CheckStorage(root_, below, problems_);
      storage.storage_path = below.storage_path;
    } else {
      model::CheckStorage(root_, storage, problems_);
    }
  }

  void CheckDatabase() {
    const ConfigNode* db = root_.Find("db");
    if (db == nullptr || !db->is_map()) return;
    if (IsGiven("db.url") && IsGiven("db.host")) {
      return Add("db.host", "is also part of url; remove one of them");
    }
    if (IsGiven("db.url") || db->members.empty()) return;
    if (!IsGiven("db.host"))
      return Add("db",
                 "has no server; set host or url, such as host: /var/run/postgresql for the Unix "
                 "socket, or "
                 "remove db for the embedded PostgreSQL");
    file_.config.db_url = ConnectionString();
  }

  void CheckLease() {
    const LeaseTimes& lease = file_.config.lease;
    if (lease.length >= 2 * lease.renew_every) return;
    Add("lease.length", "is less than twice lease.renew_every; one late renewal would end it");
  }

  // In libpq's syntax.
  std::string ConnectionString() const {
    const FileConfig::Database& db = file_.db;
    std::vector<std::string> parameters = {absl::StrCat("port=", db.port)};
    for (const auto& [key, value] :
         std::vector<std::pair<const char*, std::string>>{{"host", db.host},
                                                          {"user", db.user},
                                                          {"password", db.password},
                                                          {"dbname", db.name},
                                                          {"sslmode", db.ssl_mode},
                                                          {"sslrootcert", db.ssl_root_cert}}) {
      if (value.empty()) continue;
      const std::string escaped = absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"'", "\\'"}});
      parameters.push_back(absl::StrCat(key, "='", escaped, "'"));
    }
    return absl::StrJoin(parameters, " ");
  }

  void CheckPassword() {
    if (file_.password_file.empty()) return;
    if (IsGiven("security.initial_user_password")) {
      return Add("security.initial_user_password_file",
                 "initial_user_password is also set; remove one of them");
    }
    absl::StatusOr<std::string> password = ReadPasswordFile(file_.password_file);
    if (!password.ok()) {
      return Add("security.initial_user_password_file", std::string(password.status().message()));
    }
    file_.config.admin_password = *std::move(password);
  }

  // Settings that may be written as long as they are off.
  void CheckUnsupported() {
    for (const std::string key : {"saml", "oidc", "scim"}) {
      const ConfigNode* enabled = root_.FindPath(key + ".enabled");
      if (enabled == nullptr) continue;
      if (ReadBool(*enabled) != false)
        Add(key, "external identity providers are not supported; remove it");
    }
    if (file_.no_default_pools) {
      Add("resource_manager.no_default_resource_pools",
          "not supported: every task has a pool; remove it, and set default_compute_resource_pool "
          "and default_aux_resource_pool");
    }
  }

  // Returns whether all names are valid.
  bool CheckPools() {
    const std::vector<model::ResourcePool>& pools = file_.config.resource_pools;
    std::set<std::string> names;
    for (size_t i = 0; i < pools.size(); ++i) {
      const std::string& name = pools[i].name;
      const bool good = !name.empty() && name.size() <= 255 &&
                        std::all_of(name.begin(), name.end(), absl::ascii_isgraph) &&
                        name.find('/') == name.npos;
      // A missing name was reported already.
      const bool given = root_.Find("resource_pools")->items.at(i).Find("pool_name") != nullptr;
      if (good && !names.insert(name).second) {
        AddItem("resource_pools", i, "pool_name", absl::StrCat("\"", name, "\" is listed twice"));
      } else if (!good && given) {
        AddItem("resource_pools", i, "pool_name",
                absl::StrCat("\"", name,
                             "\" is not a valid pool name; use letters, digits, '-', '_' and '.'"));
      }
    }
    return names.size() == pools.size();
  }

  // The key may be at the top level or in resource_manager.
  void CheckDefaultPool(const std::string& key, const std::string& pool) {
    const std::string longer = absl::StrCat("resource_manager.", key);
    if (IsGiven(key) && IsGiven(longer) &&
        root_.Find(key)->ToValue() != root_.FindPath(longer)->ToValue()) {
      return Add(longer, absl::StrCat("differs from ", key, "; remove one of them"));
    }
    std::vector<std::string> names;
    for (const model::ResourcePool& each : file_.config.resource_pools) names.push_back(each.name);
    if (names.empty() || std::find(names.begin(), names.end(), pool) != names.end()) return;
    const std::string path = IsGiven(longer) ? longer : key;
    const std::string nearest = model::Nearest(pool, names, 2);
    const std::string known = nearest.empty()
                                  ? absl::StrCat("the pools are ", absl::StrJoin(names, ", "))
                                  : absl::StrCat("did you mean ", nearest, "?");
    Add(path, IsGiven(path) ? absl::StrCat("there is no pool \"", pool, "\"; ", known)
                            : absl::StrCat("required, as no pool is called default; ", known));
  }

  void CheckQuotas() {
    std::set<std::pair<model::Quota::Scope, std::string>> seen;
    for (size_t i = 0; i < file_.config.quotas.size(); ++i) {
      const model::Quota& quota = file_.config.quotas[i];
      const ConfigNode& item = root_.Find("quotas")->items.at(i);
      if (item.Find("name") == nullptr || item.Find("scope") == nullptr) continue;
      if (quota.name.empty()) AddItem("quotas", i, "name", "is empty");
      if (item.Find("max_slots") == nullptr && item.Find("slot_hours") == nullptr) {
        AddItem("quotas", i, "", "has no limit; set max_slots, slot_hours or both");
      }
      if (!seen.insert({quota.scope, quota.name}).second) {
        AddItem("quotas", i, "name",
                absl::StrCat("\"", quota.name, "\" has another quota; combine them"));
      }
    }
  }

  void CheckWebhooks() {
    const Config& config = file_.config;
    const std::string& url = config.webhook_base_url;
    if (!url.empty() && !url.starts_with("http://") && !url.starts_with("https://")) {
      Add("webhooks.base_url", "expected http://... or https://...");
    }
    for (const std::string& network : config.webhook_networks) {
      const absl::Status read = webhooks::ParseNetwork(network).status();
      if (!read.ok()) Add("webhooks.allow_networks", std::string(read.message()));
    }
  }

  void CheckCreatorRole() {
    const model::RoleId id(file_.config.authz.creator_role);
    std::vector<std::string> known;
    for (const model::BuiltInRole& role : model::GetBuiltInRoles()) {
      const auto listed = model::GetListedPermissions(role.id, model::GetPermissions(role.id));
      if (!model::IsAssignableInWorkspace(listed)) continue;
      if (role.id == id) return;
      known.push_back(absl::StrCat(role.id.value(), " (", std::string(role.name), ")"));
    }
    Add("security.authz.workspace_creator_assign_role.role_id",
        absl::StrCat("no built-in role of a workspace has the ID ", id.value(), "; expected ",
                     absl::StrJoin(known, ", ")));
  }

  void CheckTaskDefaults() {
    constexpr char kKey[] = "task_container_defaults";
    if (const ConfigNode* node = root_.Find(kKey); node != nullptr && node->is_map()) {
      file_.config.task_defaults.cluster = Layer(*node, kKey);
      file_.config.displayed_task_defaults[""] = model::SelectTaskDefaults(*node);
    }
    const std::vector<model::ResourcePool>& pools = file_.config.resource_pools;
    for (size_t i = 0; i < pools.size(); ++i) {
      const ConfigNode* node = root_.Find("resource_pools")->items.at(i).Find(kKey);
      if (node == nullptr || !node->is_map()) continue;
      file_.config.displayed_task_defaults[pools[i].name] = model::SelectTaskDefaults(*node);
      std::string layer = Layer(*node, absl::StrCat("resource_pools[", i, "].", kKey));
      if (!layer.empty()) file_.config.task_defaults.pools[pools[i].name] = std::move(layer);
    }
  }

  std::string Layer(const ConfigNode& node, const std::string& path) {
    const model::Value layer = model::ReadTaskDefaults(node, path, problems_, warnings_);
    return layer.is_null() ? std::string() : layer.ToJson();
  }

  void CheckTopology() {
    for (size_t i = 0; i < file_.topology.size(); ++i) {
      const FileConfig::TopologyItem& item = file_.topology[i];
      std::set<int64_t> slots;
      for (const std::vector<int64_t>& island : item.islands) {
        for (const int64_t slot : island) {
          if (slots.insert(slot).second) continue;
          AddItem("topology", i, "islands", absl::StrCat("slot ", slot, " is listed twice"));
        }
      }
      for (const std::string& agent : item.agents) {
        const bool first =
            file_.config.topology.insert({agent, {item.network_switch, item.islands}}).second;
        if (!first) {
          AddItem("topology", i, "agents", absl::StrCat("\"", agent, "\" is listed twice"));
        }
      }
    }
  }

  // In the form that browsers send; with a trailing slash it would never match.
  void CheckOrigins() {
    for (const std::string& origin : file_.config.allow_origins) {
      const size_t host = origin.find("://");
      const bool good = origin == "*" || (host != origin.npos && host + 3 < origin.size() &&
                                          origin.find('/', host + 3) == origin.npos);
      if (good) continue;
      Add("cors.allow_origins",
          absl::StrCat("\"", origin,
                       "\" is not an origin; use https://host, https://host:port or *"));
    }
  }

  const ConfigNode& root_;
  FileConfig& file_;
  std::vector<Problem>& problems_;
  std::vector<Problem>& warnings_;
};

// Pools inherit the fields of resource_manager.scheduler that they do not set. Without pools there
// is one default pool with all of them.
void ApplyManagerScheduler(ConfigNode& root) {
  const ConfigNode* found = root.FindPath("resource_manager.scheduler");
  if (found == nullptr) return;
  const ConfigNode scheduler = *found;
  ConfigNode* pools = root.FindPath("resource_pools");
  if (pools == nullptr || pools->items.empty()) {
    std::erase_if(root.members, [](const ConfigMember& m) { return m.key == "resource_pools"; });
    ConfigNode list = FromValue(model::Value::List{model::Value::Object{{"pool_name", "default"}}},
                                scheduler.where);
    root.members.push_back({"resource_pools", scheduler.where, std::move(list)});
    pools = &root.members.back().value;
  }
  for (ConfigNode& pool : pools->items) {
    ConfigNode* own = pool.FindPath("scheduler");
    if (own == nullptr) {
      std::erase_if(pool.members, [](const ConfigMember& m) { return m.key == "scheduler"; });
      pool.members.push_back({"scheduler", scheduler.where, scheduler});
      continue;
    }
    for (const ConfigMember& member : scheduler.members) {
      if (own->Find(member.key) != nullptr) continue;
      std::erase_if(own->members, [&](const ConfigMember& m) { return m.key == member.key; });
      own->members.push_back(member);
    }
  }
}

// A number or a boolean where a text is expected.
void AddQuotingHint(Problem& problem) {
  constexpr std::string_view kFound = "expected a string, found ";
  if (!problem.text.starts_with(kFound)) return;
  const std::string_view found = std::string_view(problem.text).substr(kFound.size());
  const bool number = absl::ascii_isdigit(found[0]) || found[0] == '-';
  if (number || found == "true" || found == "false") problem.text += "; put it in quotes";
}

std::vector<std::string> Warnings(const ConfigNode& root, std::vector<Problem> warnings) {
  for (const model::Field& field : ConfigFields().fields()) {
    const std::string path = field.path;
    if (field.warning == nullptr) continue;
    const size_t bracket = path.find("[].");
    if (bracket == path.npos) {
      const ConfigNode* node = root.FindPath(path);
      if (node != nullptr) warnings.push_back({node->where, path, field.warning});
      continue;
    }
    const ConfigNode* list = root.FindPath(path.substr(0, bracket));
    for (size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
      const std::string member = path.substr(bracket + 3);
      const ConfigNode* node = list->items[i].FindPath(member);
      if (node == nullptr) continue;
      warnings.push_back({node->where, absl::StrCat(path.substr(0, bracket), "[", i, "].", member),
                          field.warning});
    }
  }
  for (Problem& warning : warnings) warning.text = "without effect: " + warning.text;
  return ToLines(std::move(warnings));
}

}  // namespace

absl::StatusOr<std::string> ReadPasswordFile(const std::string& path) {
  DET_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  std::string line = text.substr(0, text.find_first_of("\r\n"));
  if (!line.empty()) return line;
  return absl::InvalidArgumentError(absl::StrCat("the first line of ", path, " is empty"));
}

absl::Status ReadConfigText(std::string_view yaml, const std::string& path, Config* config,
                            const std::vector<Override>& overrides) {
  DET_ASSIGN_OR_RETURN(ConfigNode root, model::ReadYaml(yaml, path, true));
  if (!root.is_map() && !root.is_null()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a map such as \"port: 8080\", found ", root.Describe()));
  }
  root.where = path;
  DET_RETURN_IF_ERROR(ApplyOverrides(ConfigFields(), overrides, root));
  ConvertScalars(ConfigFields(), root);
  // Check the file as written, so that inherited values are checked once.
  FileConfig written;
  std::vector<Problem> problems;
  ReadFields(ConfigFields(), root, &written, problems);
  if (problems.empty()) ApplyManagerScheduler(root);
  FileConfig file;
  file.config = *config;
  std::vector<Problem> repeated;
  ReadFields(ConfigFields(), root, &file, repeated);
  std::vector<Problem> warnings;
  Rules(root, file, problems, warnings).Check();
  for (Problem& problem : problems) AddQuotingHint(problem);
  DET_RETURN_IF_ERROR(ToStatus(std::move(problems)));
  *config = std::move(file.config);
  config->warnings = Warnings(root, std::move(warnings));
  return absl::OkStatus();
}

absl::Status ReadConfigFile(const std::string& path, Config* config,
                            const std::vector<Override>& overrides) {
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--config: ", text.status().message(),
        "; let this user read it, or choose another file (--config /dev/null: no file)"));
  }
  return ReadConfigText(*text, path, config, overrides);
}

}  // namespace det::app
