#include <iostream>

#include "master/core/model/fields_page.h"

int main() {
  std::cout << det::model::ExperimentConfigPage();
  return 0;
}
