#include <iostream>

#include "master/model/fields_page.h"

int main() {
  std::cout << det::model::ExperimentConfigPage();
  return 0;
}
