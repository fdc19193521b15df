// VectorEngine and ScalarEngine: single instructions on one [128, N] tile.
#include "bench/validation/point.h"

namespace bwmm::validation {
namespace {

using isa::Unit;
using lang::AluOp;

double CopyFromPsum() {
  return Stage("trn2")
      .Run([](lang::Core& nki) {
        const lang::Tile acc = nki.Psum("acc", DType::kFp32, 128, {512});
        const lang::Tile out = nki.Sbuf("out", DType::kFp32, 128, {512});
        nki.tensor_copy(out, acc);
      })
      .Duration(Unit::kVector);
}

double AddFromPsum() {
  return Stage("trn2")
      .Run([](lang::Core& nki) {
        const lang::Tile acc = nki.Psum("acc", DType::kFp32, 128, {512});
        const lang::Tile sum = nki.Sbuf("sum", DType::kFp32, 128, {512});
        nki.tensor_tensor(sum, sum, AluOp::kAdd, acc);
      })
      .Duration(Unit::kVector);
}

double CopyInSbuf() {
  return Stage("trn2")
      .Run([](lang::Core& nki) {
        const lang::Tile in = nki.Sbuf("in", DType::kFp32, 128, {512});
        const lang::Tile out = nki.Sbuf("out", DType::kFp32, 128, {512});
        nki.tensor_copy(out, in);
      })
      .Duration(Unit::kVector);
}

// Independent additions, as a matmul's loop over K blocks makes them.
double AddInStream() {
  Stage stage("trn2");
  return NsEach(stage, 32, [](int count) {
    return [count](lang::Core& nki) {
      const auto acc = nki.RotatingPsum("acc", 4, DType::kFp32, 128, {512});
      const auto sum = nki.RotatingSbuf("sum", 4, DType::kFp32, 128, {512});
      for (int i = 0; i < count; ++i)
        nki.tensor_tensor(sum[i], sum[i], AluOp::kAdd, acc[i]);
    };
  });
}

double Exp() {
  return Stage("trn2")
      .Run([](lang::Core& nki) {
        const lang::Tile in = nki.Sbuf("in", DType::kBf16, 128, {128});
        const lang::Tile out = nki.Sbuf("out", DType::kBf16, 128, {128});
        nki.activation(out, Activation::kExp, in);
      })
      .Duration(Unit::kScalar);
}

// Two functions in turn against one of them.
double TableLoad() {
  Stage stage("trn2");
  const auto each = [&stage](Activation other) {
    return NsEach(stage, 32, [other](int count) {
      return [count, other](lang::Core& nki) {
        const lang::Tile in = nki.Sbuf("in", DType::kBf16, 128, {128});
        const auto out = nki.RotatingSbuf("out", 4, DType::kBf16, 128, {128});
        for (int i = 0; i < count; ++i)
          nki.activation(out[i], i % 2 == 0 ? Activation::kExp : other, in);
      };
    });
  };
  return each(Activation::kSilu) - each(Activation::kExp);
}

}  // namespace

std::vector<Point> VectorScalarPoints() {
  const std::string one = "start to end of the instruction";
  return {
      {"V1", "vector_scalar", "trn2", "tensor_copy PSUM to SBUF [128,512] fp32", "ns", 696, 'C',
       "S2 v3", Role::kChecks, false, one, CopyFromPsum},
      {"V2", "vector_scalar", "trn2", "tensor_tensor SBUF + PSUM [128,512] fp32", "ns", 688, 'C',
       "S2 v5", Role::kChecks, false, one, AddFromPsum},
      {"V3", "vector_scalar", "trn2", "tensor_copy in SBUF [128,512] fp32 (or memset: inferred)",
       "ns", 420, 'C', "S2 v5", Role::kChecks, false, one, CopyInSbuf},
      {"V4", "vector_scalar", "trn2", "stream of tensor_tensor [128,512] fp32", "ns each", 553, 'A',
       "S2 v5", Role::kChecks, false, "32 more instructions in a stream", AddInStream},
      {"V6", "vector_scalar", "trn2", "activation exp [128,128] bf16", "ns", 400, 'C', "S1",
       Role::kChecks, false, one, Exp},
      {"V7", "vector_scalar", "trn2", "load of an activation table", "ns", 1280, 'C', "S1",
       Role::kChosen, false, "another function in front of every activation of a stream",
       TableLoad},
  };
}

}  // namespace bwmm::validation
