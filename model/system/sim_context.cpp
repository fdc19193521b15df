#include "model/system/sim_context.h"

#include <sysc/kernel/sc_kernel_ids.h>

#include <new>
#include <string_view>
#include <systemc>

#include "model/support/check.h"
#include "model/units/stack_bounds.h"

namespace bwmm {
namespace {

bool in_use = false;

}  // namespace

SimContext::SimContext() {
  Check(!in_use, "one simulation at a time");
  in_use = true;
  sc_core::sc_default_global_context = new sc_core::sc_simcontext;
  sc_core::sc_curr_simcontext = sc_core::sc_default_global_context;
}

void SimContext::Run() {
  try {
    sc_core::sc_start();
  } catch (const sc_core::sc_report& report) {
    if (std::string_view(report.get_msg_type()) == sc_core::SC_ID_STACK_SETUP_FAILED_)
      throw std::bad_alloc();
    throw;
  }
  units::OnOwnStack();
}

SimContext::~SimContext() {
  delete sc_core::sc_curr_simcontext;
  // The next use of SystemC makes its own.
  sc_core::sc_curr_simcontext = nullptr;
  sc_core::sc_default_global_context = nullptr;
  in_use = false;
}

}  // namespace bwmm
