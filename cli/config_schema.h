// The JSON Schema of experiment configurations, written by //tools:config_schema at build time.
#ifndef CLI_CONFIG_SCHEMA_H_
#define CLI_CONFIG_SCHEMA_H_

namespace det::cli {

extern const char kConfigSchema[];

}  // namespace det::cli

#endif  // CLI_CONFIG_SCHEMA_H_
