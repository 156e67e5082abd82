#include <iostream>

#include "agent/settings.h"

int main() {
  std::cout << det::agent::AgentConfigPage();
  return 0;
}
