#include <iostream>

#include "master/experiment/state_machines_text.h"

int main() {
  std::cout << det::experiment::StateMachinesText();
  return 0;
}
