// Prints the JSON Schema of the experiment configuration, which is embedded in det (//cli).
#include <iostream>

#include "master/core/model/fields_schema.h"

int main() {
  std::cout << det::model::ExperimentConfigSchema().ToJson() << "\n";
  return 0;
}
