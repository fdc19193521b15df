// Programs as text. The format is in docs/programming_model.md.
//
//   bwmm replay 1
//   machine trn3
//   set machine.sbuf.bytes=16384
//   tensor x bfloat16 [128,512] at 0x40 edges 7
//        0 core0 sync   register_load        src=hbm+0x40 int32[1,1]
//   when core0 0 > 2
//        1 core0 vector memset               dst=sbuf[0:128]+0x0 bfloat16[128,4] value=1
//   always core0
#pragma once

#include <string>
#include <string_view>

#include "replay/replay_program.h"

namespace bwmm::replay {

std::string ToText(const ReplayProgram& program);
// SimError: "file:line: column: what stands there, what is allowed".
ReplayProgram ParseReplay(std::string_view text, const std::string& file);
ReplayProgram LoadReplay(const std::string& path);

}  // namespace bwmm::replay
