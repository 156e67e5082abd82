// Events of a search as JSON, for its journal: with the snapshot before them they give the search
// as it is now (Searcher::Handle each, its operations ignored).
//
//   ["created", "3"]   ["validation", "3", steps, length, [metrics]]   ["exited", "3", "failed"]
//   ["posted", id, events_read, [operations]]
//
// Called by the cluster for each event that a searcher hears, and at restore. PURE.
#ifndef MASTER_CORE_SEARCHER_JOURNAL_H_
#define MASTER_CORE_SEARCHER_JOURNAL_H_

#include "absl/status/statusor.h"
#include "master/core/model/value.h"
#include "master/core/searcher/operation.h"

namespace det::searcher {

model::Value ToValue(const Event& event);
// INVALID_ARGUMENT for what is none of ToValue's, also after a way through JSON text.
absl::StatusOr<Event> EventFromValue(const model::Value& value);

model::Value ToValue(const Operation& operation);
absl::StatusOr<Operation> OperationFromValue(const model::Value& value);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_JOURNAL_H_
