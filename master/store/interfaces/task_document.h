// Conversion of the definition of a task to the JSON document of its row, and back. Shared by all
// implementations of Store. Called on any thread. Never does I/O.
#ifndef MASTER_STORE_INTERFACES_TASK_DOCUMENT_H_
#define MASTER_STORE_INTERFACES_TASK_DOCUMENT_H_

#include "master/core/model/task_definition.h"
#include "master/core/model/value.h"

namespace det::store {

model::Value ToDocument(const model::TaskDefinition& definition);

// Fields that the document lacks keep their defaults: an older master may have written it.
model::TaskDefinition ToTaskDefinition(const model::Value& document);

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_TASK_DOCUMENT_H_
