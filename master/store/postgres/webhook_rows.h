// The statement that creates deliveries for an event, used by commits and by SqlWebhooks. Any
// thread.
#ifndef MASTER_STORE_POSTGRES_WEBHOOK_ROWS_H_
#define MASTER_STORE_POSTGRES_WEBHOOK_ROWS_H_

#include "master/core/model/webhook.h"
#include "master/store/postgres/connection.h"

namespace det::store {

// The statement returns the ids of the deliveries that it creates.
Connection::Statement RaiseStatement(const model::WebhookEvent& event);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_WEBHOOK_ROWS_H_
