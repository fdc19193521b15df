// A verdict, made element by element. Standard library only.
#pragma once

#include <string>

#include "kernels/single/expected_ref.h"
#include "kernels/single/judgement_ref.h"

namespace bwmm::reference {

class Tally {
 public:
  // The result's type: bf16, or fp32.
  explicit Tally(bool bf16) : digits_(bf16 ? 8 : 24), least_(bf16 ? -133 : -149) {}

  // The largest magnitude of the row that follows.
  void Row(double largest) { row_largest_ = largest; }
  void Add(int row, int column, const Expected& expected, double got);
  Judgement Finish();

 private:
  void Fail(const std::string& rule, const Judgement::Worst& here);

  const int digits_;
  const int least_;
  double row_largest_ = 0;
  double largest_ = Judgement::kNone;
  double difference_ = Judgement::kNone;
  Judgement result_;
};

}  // namespace bwmm::reference
