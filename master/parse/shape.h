// Conversion of short and old forms of a field to the form of the table of fields, before layers
// merge. A form that is not recognized stays unchanged; the reader refuses it.
// Called by parse.cc and merge.cc, on any thread.
#ifndef MASTER_PARSE_SHAPE_H_
#define MASTER_PARSE_SHAPE_H_

#include "master/parse/config_node.h"

namespace det::model {

void ToTableForm(ConfigNode& root);

}  // namespace det::model

#endif  // MASTER_PARSE_SHAPE_H_
