// What the process itself must be for its errors to come out as errors.
#pragma once

namespace bwmm {

// A reader that goes away or a size limit becomes a write error instead of a signal that ends the
// process, and no file is ever opened in place of a closed standard stream.
void PrepareProcess();

}  // namespace bwmm
