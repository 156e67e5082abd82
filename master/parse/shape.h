// Shorter and older ways to write a field, brought to the one form that the table of fields knows,
// before layers merge. What cannot be understood stays as it is, for the reader to refuse.
// Called by parse.cc and merge.cc, on any thread.
#ifndef MASTER_PARSE_SHAPE_H_
#define MASTER_PARSE_SHAPE_H_

#include "master/parse/config_node.h"

namespace det::model {

void ToTableForm(ConfigNode& root);

}  // namespace det::model

#endif  // MASTER_PARSE_SHAPE_H_
