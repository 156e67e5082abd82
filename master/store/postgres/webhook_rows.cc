#include "master/store/postgres/webhook_rows.h"

#include <string>

#include "master/store/postgres/params.h"

namespace det::store {
namespace {

// The triggers of the event: those of webhooks of the experiment's workspace or of all workspaces,
// unless the configuration excludes them, or the webhook must be named and is not. `fired`: of
// triggers that fire once per trial, those that have not. Because of the lock, a trigger that is
// deleted concurrently is skipped instead of failing the commit.
constexpr char kRaise[] = R"sql(
WITH matching AS (
  SELECT t.id AS trigger, t.condition, w.id AS webhook
  FROM webhook_triggers t JOIN webhooks w ON w.id = t.webhook
  JOIN experiments e ON e.id = $2 LEFT JOIN projects p ON p.id = e.project
  CROSS JOIN LATERAL (SELECT (e.config #> '{integrations,webhooks}')::jsonb AS named) c
  WHERE t.type = $1 AND ($3::int = 0 OR t.id = $3)
    AND ($4::text = '' OR t.condition ->> 'state' = $4)
    AND (w.workspace IS NULL OR w.workspace = p.workspace)
    AND coalesce(c.named ->> 'exclude', 'false') <> 'true'
    AND (w.mode = 'WORKSPACE' OR coalesce(c.named -> 'webhook_id' @> to_jsonb(w.id), false)
         OR coalesce(c.named -> 'webhook_name' @> to_jsonb(w.name), false))
  FOR KEY SHARE OF t, w
), fired AS (
  INSERT INTO webhook_fired (trial, trigger) SELECT $5::int, trigger FROM matching
  WHERE $5::int IS NOT NULL ON CONFLICT DO NOTHING RETURNING trigger
)
INSERT INTO webhook_deliveries (webhook, event_id, trigger, condition, data, raised_at, next_at)
SELECT webhook, gen_random_uuid()::text, $1, condition, $6::json, $7::timestamptz, $7::timestamptz
FROM matching WHERE $5::int IS NULL OR trigger IN (SELECT trigger FROM fired)
ORDER BY trigger RETURNING id)sql";

}  // namespace

Connection::Statement RaiseStatement(const model::WebhookEvent& event) {
  return {kRaise,
          MakeParams(std::string(ToString(event.trigger)), event.experiment, event.only_trigger,
                     event.state, event.once_for, event.data, event.at)};
}

}  // namespace det::store
