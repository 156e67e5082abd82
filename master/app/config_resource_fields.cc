// The rows of the master's table about what it gives out.
#include "master/app/config_field_rows.h"
#include "master/app/config_fields.h"
#include "master/core/model/field_rows.h"

namespace det::app {
namespace {

using Owner = FileConfig;
using Role = model::Field::Role;
using model::ChoiceOf;
using model::DurationOf;
using model::Field;
using model::FieldTarget;
using model::kMaxInt;
using model::ListOf;
using model::Section;

// The rows of a scheduler below `prefix`, whose members stand in a ResourcePool.
#define DET_SCHEDULER(prefix, pool)                                                               \
  Section(prefix, "In what order, and where, what waits is started."),                            \
      {.path = prefix ".type",                                                                    \
       .description =                                                                             \
           "Who goes first: by priority, by fair share, or in the order of "                      \
           "submission.",                                                                         \
       .target = DET_TARGET(ChoiceOf(pool.policy)),                                               \
       .default_json = "\"priority\"",                                                            \
       .choices = "priority|fair_share|fifo",                                                     \
       .gone = "round_robin: use fifo or fair_share"},                                            \
      {.path = prefix ".fitting_policy",                                                          \
       .description =                                                                             \
           "Where a trial goes that fits in several places: best is the fullest "                 \
           "machine, worst the emptiest.",                                                        \
       .target = DET_TARGET(ChoiceOf(pool.fitting)),                                              \
       .default_json = "\"best\"",                                                                \
       .choices = "best|worst"},                                                                  \
      {.path = prefix ".preemption",                                                              \
       .description = "Whether less important trials save and go when more important ones wait.", \
       .target = DET_TARGET(&pool.preemption),                                                    \
       .default_json = "false"},                                                                  \
      {.path = prefix ".default_priority",                                                        \
       .description = "Of experiments that name none; smaller goes first.",                       \
       .target = DET_TARGET(&pool.default_priority),                                              \
       .default_json = "42",                                                                      \
       .min = 1,                                                                                  \
       .max = 99},                                                                                \
      {.path = prefix ".allow_heterogeneous_fits",                                                \
       .description =                                                                             \
           "Whether a trial may run on machines of unequal size and beside others; "              \
           "without, on one machine, or on wholly idle ones of one size.",                        \
       .target = DET_TARGET(&pool.heterogeneous),                                                 \
       .default_json = "true"},                                                                   \
      {.path = prefix ".backfill",                                                                \
       .description =                                                                             \
           "Whether a trial may start before a more important one that does not fit, "            \
           "where it cannot delay it.",                                                           \
       .target = DET_TARGET(&pool.backfill),                                                      \
       .default_json = "true"},                                                                   \
      {.path = prefix ".hold_after",                                                              \
       .description =                                                                             \
           "How long equals may pass by a trial that does not fit; then it holds what "           \
           "it needs.",                                                                           \
       .target = DET_TARGET(DurationOf(pool.hold_after)),                                         \
       .default_json = "3",                                                                       \
       .min = 0,                                                                                  \
       .max = kMaxInt},                                                                           \
  {                                                                                               \
    .path = prefix ".maintenance_lead",                                                           \
    .description =                                                                                \
        "How long before an announced maintenance of an agent no trial without "                  \
        "max_run_time starts there any more.",                                                    \
    .target = DET_TARGET(DurationOf(pool.maintenance_lead)), .default_json = "3600", .min = 0,    \
    .max = kMaxInt                                                                                \
  }

constexpr Field kResourceFields[] = {
    Section("resource_manager", "Who gives out slots, and by which rules."),
    {.path = "resource_manager.type",
     .description = "Agents of this cluster.",
     .target = DET_AT(manager_type),
     .default_json = "\"agent\"",
     .choices = "agent"},
    {.path = "resource_manager.default_compute_resource_pool",
     .description = "The same as default_compute_resource_pool.",
     .target = DET_AT(config.default_compute_pool),
     .default_json = "\"default\""},
    {.path = "resource_manager.default_aux_resource_pool",
     .description = "The same as default_aux_resource_pool.",
     .target = DET_AT(config.default_aux_pool),
     .default_json = "\"default\""},
    DET_SCHEDULER("resource_manager.scheduler", c.scheduler),
    {.path = "resource_manager.client_ca",
     .description = "PEM file with the authority by which agents must show certificates; without, "
                    "their token is enough.",
     .target = DET_AT(config.tls_client_ca),
     .default_json = "\"\""},
    WithoutEffect("resource_manager.require_authentication",
                  "agents always show their token, and with client_ca a certificate"),
    Gone("resource_manager.no_default_resource_pools", kNotYet),

    {.path = "resource_pools",
     .description = "Groups of agents, each with a queue of its own. What is not said about a "
                    "pool's scheduler is as resource_manager.scheduler says. Agents name their "
                    "pool by --pool; without any here there is one, called default. The API and "
                    "`det resource-pool` change pools at run time, and win over this file.",
     .role = Role::kList,
     .target = DET_LIST(config.resource_pools),
     .default_json = "[]"},
    {.path = "resource_pools[].pool_name",
     .description = "What agents and experiments call it.",
     .target = DET_ITEM(config.resource_pools, name),
     .required = true},
    {.path = "resource_pools[].description",
     .description = "A sentence for people.",
     .target = DET_ITEM(config.resource_pools, description),
     .default_json = "\"\""},
    {.path = "resource_pools[].max_aux_containers_per_agent",
     .description = "Tasks without slots on one agent.",
     .target = DET_ITEM(config.resource_pools, max_aux_per_agent),
     .default_json = "100",
     .min = 0,
     .max = kMaxInt},
    {.path = "resource_pools[].shared_devices",
     .description = "Whether trials may share a device (resources.slots_per_trial: 0.5).",
     .target = DET_ITEM(config.resource_pools, shared_devices),
     .default_json = "false"},
    {.path = "resource_pools[].workspaces",
     .description = "Workspaces that may use it; none is all of them.",
     .target = DET_ITEM(config.resource_pools, workspaces),
     .default_json = "[]"},
    DET_SCHEDULER("resource_pools[].scheduler", c.config.resource_pools.at(i)),
    Gone("resource_pools[].provider",
         "this master starts no machines; remove it, and start agents "
         "with --pool"),
    {.path = "resource_pools[].task_container_defaults",
     .description =
         "As task_container_defaults, over those, for what runs in this pool. Is of this "
         "file alone, also where the pool was changed at run time.",
     .target = DET_TARGET(&c.pool_task_defaults[i]),
     .default_json = "null"},
    Gone("resource_pools[].agent_reconnect_wait",
         "is the same for all agents; write agent_reconnect_wait beside resource_pools"),
    WithoutEffect("resource_pools[].kubernetes_namespace", "tasks run on this cluster's agents"),

    {.path = "quotas",
     .description = "What one user, or all users of one workspace, may hold and spend.",
     .role = Role::kList,
     .target = DET_LIST(config.quotas),
     .default_json = "[]"},
    {.path = "quotas[].scope",
     .description = "Whose it is.",
     .target = DET_TARGET(ChoiceOf(c.config.quotas.at(i).scope)),
     .required = true,
     .choices = "user|workspace"},
    {.path = "quotas[].name",
     .description = "Of the user or the workspace.",
     .target = DET_ITEM(config.quotas, name),
     .required = true},
    {.path = "quotas[].max_slots",
     .description = "Slots at once; parts of devices count as such.",
     .target = DET_ITEM(config.quotas, max_slots),
     .default_json = "null",
     .min = 0},
    {.path = "quotas[].slot_hours",
     .description = "Slot hours in a calendar month (UTC).",
     .target = DET_ITEM(config.quotas, slot_hours),
     .default_json = "null",
     .min = 0},

    {.path = "topology",
     .description = "Which machines and which devices reach each other fastest; wins over what "
                    "agents report.",
     .role = Role::kList,
     .target = DET_LIST(topology),
     .default_json = "[]"},
    {.path = "topology[].agents",
     .description = "Agents that this is said of, by id.",
     .target = DET_ITEM(topology, agents),
     .required = true},
    {.path = "topology[].switch",
     .description = "The network switch that they hang on; agents of one switch reach each other "
                    "fastest.",
     .target = DET_ITEM(topology, network_switch),
     .default_json = "\"\""},
    {.path = "topology[].islands",
     .description = "Slots of each of them that reach each other fastest (NVLink), as [[0, 1, 2, "
                    "3], [4, 5, 6, 7]]; a slot that stands in none is alone.",
     .target = DET_ITEM(topology, islands),
     .default_json = "[]",
     .min = 0,
     .max = kMaxInt},
};

#undef DET_SCHEDULER

}  // namespace

std::vector<Field> ResourceFields() {
  return {std::begin(kResourceFields), std::end(kResourceFields)};
}

}  // namespace det::app
