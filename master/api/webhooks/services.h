// Creates the gRPC services of this folder. Their arguments must outlive them.
#ifndef MASTER_API_WEBHOOKS_SERVICES_H_
#define MASTER_API_WEBHOOKS_SERVICES_H_

#include <memory>

#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/store/interfaces/store.h"
#include "master/webhooks/deliverer.h"
#include "master/webhooks/trigger_watch.h"

namespace det::api {

std::unique_ptr<Service> MakeWebhookService(CallPipeline& calls, store::Store& store,
                                            webhooks::TriggerWatch* triggers,
                                            webhooks::Deliverer& deliverer);

}  // namespace det::api

#endif  // MASTER_API_WEBHOOKS_SERVICES_H_
