// libsystemc brings a main() that calls sc_main. Programs here have a main() of their own and never
// call it, but the symbol must exist for the library to link.
#include <systemc>

int sc_main(int, char*[]) {
  return 0;
}
