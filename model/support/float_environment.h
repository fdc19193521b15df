// The host's floating point must be IEEE 754 with rounding to nearest, or results differ silently.
#pragma once

namespace bwmm {

// SimError when the calling thread flushes subnormals (FTZ, DAZ) or rounds otherwise: a host
// program may have set that, -ffast-math at start-up for one.
void CheckFloatEnvironment();

}  // namespace bwmm
