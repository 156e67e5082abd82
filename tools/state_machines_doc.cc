#include <iostream>

#include "master/core/experiment/state_machines_text.h"

int main() {
  std::cout << det::experiment::StateMachinesText();
  return 0;
}
