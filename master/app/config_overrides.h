// Settings outside of the configuration file, and scalars in another form than the field's type.
// Used by config.cc and config_file.cc once, before anything starts.
#ifndef MASTER_APP_CONFIG_OVERRIDES_H_
#define MASTER_APP_CONFIG_OVERRIDES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "master/core/model/field_table.h"
#include "master/parse/config_node.h"

namespace det::app {

// The value of a variable or a flag, which replaces that of the file.
struct Override {
  std::string source;  // "DET_DB_PORT", "--db-port", for messages
  std::string path;    // "db.port"
  std::string text;
};

// "db.port": "DET_DB_PORT", "--db-port".
std::string GetVariableName(std::string_view path);
std::string GetFlagName(std::string_view path);

// Returns the settings that the environment ("NAME=value" each) contains. An empty variable sets
// nothing. Variables of fields without effect are returned too, so that they are reported.
std::vector<Override> FindVariables(const model::FieldTable& table, const char* const* environment);

// Returns the names of the variables of secret fields, which child processes must not inherit.
std::vector<std::string> GetSecretVariables(const model::FieldTable& table);

// Returns the value of true, yes, on, 1, false, no, off, 0 and the like; nullopt for others.
std::optional<bool> ReadBool(const model::ConfigNode& node);

// Puts each override in the place of the file's value; later ones win. A list is written as "a,b"
// or "[a, b]".
absl::Status ApplyOverrides(const model::FieldTable& table, const std::vector<Override>& overrides,
                            model::ConfigNode& root);

// Converts scalars to the types of their fields: "5432" to 5432, "yes" and 1 to true, and 7 to "7"
// unless the field is a secret, whose text must not change (007 is 7). One of several words may be
// in upper case. Other scalars remain, so that they are reported.
void ConvertScalars(const model::FieldTable& table, model::ConfigNode& root);

}  // namespace det::app

#endif  // MASTER_APP_CONFIG_OVERRIDES_H_
