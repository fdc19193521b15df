// bwmm: errors and the exit code: 0 fine, 1 a check failed, 2 wrong input or program, 128 + n ended
// by signal n.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "cli/command_line.h"
#include "model/support/interrupt.h"
#include "model/support/printable.h"
#include "model/support/process.h"
#include "model/support/sim_error.h"

using namespace bwmm;

namespace {

// One line whatever a path or a value holds, and the indented lines of a deadlock's report.
int Fail(const std::string& text, int code) {
  std::fputs(fmt::format("bwmm: {}\n", PrintableLines(text)).c_str(), stderr);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  PrepareProcess();
  CatchInterrupts();
  try {
    return cli::RunCommandLine({argv + 1, argv + argc});
  } catch (const Interrupted& error) {
    Fail(error.what(), 0);
    return 128 + error.signal();
  } catch (const SimError& error) {
    return Fail(error.what(), 2);
  } catch (const std::bad_alloc&) {
    return Fail("host memory: not enough for this run, allowed are smaller models or fewer tokens",
                2);
  } catch (const std::exception& error) {
    return Fail(fmt::format("internal error: {}", error.what()), 1);
  }
}
