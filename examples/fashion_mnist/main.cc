// The trial as an ordinary program, for a debugger. The cluster brings a main() of its own.
#include "examples/fashion_mnist/fashion_mnist.cc"

int main(int argc, char** argv) { return det::RunTrial<FashionMnistTrial>(argc, argv); }
