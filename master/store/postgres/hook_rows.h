// The statement that makes deliveries of an event: shared by commits and by SqlWebhooks. Any
// thread.
#ifndef MASTER_STORE_POSTGRES_HOOK_ROWS_H_
#define MASTER_STORE_POSTGRES_HOOK_ROWS_H_

#include "master/core/model/webhook.h"
#include "master/store/postgres/connection.h"

namespace det::store {

// Returns the ids of the deliveries that it makes.
Connection::Statement RaiseStatement(const model::WebhookEvent& event);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_HOOK_ROWS_H_
