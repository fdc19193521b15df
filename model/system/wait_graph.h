// What everything waits for, in words: the report of a deadlock.
#pragma once

#include <span>
#include <string>

#include "model/system/core_model.h"
#include "model/units/exchange.h"

namespace bwmm {

// One line per kernel and per unit with work left: its oldest instruction, what it waits for and
// which instruction of which unit holds that.
std::string WaitGraph(std::span<CoreModel* const> cores, const units::Exchange& exchange);

}  // namespace bwmm
