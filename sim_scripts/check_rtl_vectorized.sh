#!/usr/bin/env bash
# Checks that the C++ compiler vectorizes the array's loops over columns in the Verilated model:
#   check_rtl_vectorized.sh <folder of the Verilated 128x128 engine>
#
# The loops are found by what they do in the generated C++: the fused multiply-add of ordinary mode
# and the two group sums of MX mode. A scalar loop costs a factor of ten in speed and nothing else,
# so no other test would notice.
set -euo pipefail
model=$1
source=$(grep -l 'while (.*step__DOT__c' "$model"/*DepSet*.cpp | head -n 1)
report=$(g++ -std=c++20 -O3 -march=native -w -fopt-info-vec-optimized \
  -I/usr/share/verilator/include -I"$model" -c "$source" -o /dev/null 2>&1 |
  sed -n 's/^[^:]*:\([0-9]*\):.*loop vectorized.*/\1/p')

# Line of the loop over columns around the first match of each pattern.
failed=0
for pattern in '__Vfunc_fma_finite__[0-9]*__product $' 'VL_EXTENDS_QI' \
  '__Vfunc_lane_value__[0-9]*__'; do
  line=$(awk -v pattern="$pattern" '/while \(.*step__DOT__c\)/ { loop = NR }
    loop && $0 ~ pattern { print loop; exit }' "$source")
  if [[ -z $line ]] || ! grep -qx "$line" <<<"$report"; then
    echo "not vectorized: the loop over columns with $pattern (line ${line:-not found})" >&2
    failed=1
  else
    echo "vectorized: line $line, $pattern"
  fi
done
exit $failed
