#include <iostream>

#include "master/config_fields.h"

int main() {
  std::cout << det::master::MasterConfigPage();
  return 0;
}
