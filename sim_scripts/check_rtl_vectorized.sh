#!/usr/bin/env bash
# Checks that the C++ compiler vectorizes the array's loops over columns in the Verilated model:
#   check_rtl_vectorized.sh <folder of the Verilated 128x128 engine>
#
# Checked are the fused multiply-add of ordinary mode, the group sums of MX mode (narrow and
# wide), by the names their tasks of rtl/pe/pe_array.sv keep in the generated C++. A
# scalar loop costs a factor of ten in speed and nothing else, so no other test would notice.
set -euo pipefail
model=$1
source=$(grep -l 'while (.*multiply_row__[0-9]*__c' "$model"/*DepSet*.cpp | head -n 1)
report=$(g++ -std=c++20 -O3 -march=native -w -fopt-info-vec-optimized \
  -I/usr/share/verilator/include -I"$model" -c "$source" -o /dev/null 2>&1 |
  sed -n 's/^[^:]*:\([0-9]*\):.*loop vectorized.*/\1/p')

failed=0
# check <task> <loops>: the first <loops> loops over columns of the task.
check() {
  local lines
  lines=$(grep -n "while (.*__$1__[0-9]*__c" "$source" | head -n "$2" | cut -d: -f1)
  if [[ $(wc -w <<<"$lines") -ne $2 ]]; then
    echo "$1: fewer than $2 loops over columns in $source" >&2
    failed=1
  fi
  for line in $lines; do
    if grep -qx "$line" <<<"$report"; then
      echo "$1: vectorized (line $line)"
    else
      echo "$1: not vectorized (line $line of $source)" >&2
      failed=1
    fi
  done
}
check multiply_row 1
check multiply_row_again 1
check sum_row 3
exit $failed
