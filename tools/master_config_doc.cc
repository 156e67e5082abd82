#include <iostream>

#include "master/app/config_fields.h"

int main() {
  std::cout << det::app::MasterConfigPage();
  return 0;
}
