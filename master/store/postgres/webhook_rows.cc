#include "master/store/postgres/webhook_rows.h"

#include <string>

#include "master/store/postgres/params.h"

namespace det::store {
namespace {

// Who hears of it: the webhooks of the experiment's workspace and of all, unless its configuration
// keeps them out or does not name them. `told`: of those that tell of a trial once, the triggers
// that had not. The lock: one that is deleted meanwhile drops out, in place of failing the commit.
constexpr char kRaise[] = R"sql(
WITH heard AS (
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
), told AS (
  INSERT INTO webhook_fired (trial, trigger) SELECT $5::int, trigger FROM heard
  WHERE $5::int IS NOT NULL ON CONFLICT DO NOTHING RETURNING trigger
)
INSERT INTO webhook_deliveries (webhook, event_id, trigger, condition, data, raised_at, next_at)
SELECT webhook, gen_random_uuid()::text, $1, condition, $6::json, $7::timestamptz, $7::timestamptz
FROM heard WHERE $5::int IS NULL OR trigger IN (SELECT trigger FROM told)
ORDER BY trigger RETURNING id)sql";

}  // namespace

Connection::Statement RaiseStatement(const model::WebhookEvent& event) {
  return {kRaise,
          MakeParams(std::string(ToString(event.trigger)), event.experiment, event.only_trigger,
                     event.state, event.once_for, event.data, event.at)};
}

}  // namespace det::store
