// Vector, Scalar and GpSimd instructions against scalar arithmetic in doubles: random types, shapes
// and strides, in SBUF and PSUM. A double sum or product of two fp32 values rounds to fp32 without
// double rounding, so it is an oracle for single operations.
#include "model/ops/tensor_ops.h"

#include <gtest/gtest.h>

#include <functional>

#include "model/isa/text.h"
#include "tests/ops/element_memory.h"

namespace bwmm::ops {
namespace {

using isa::AluOp;
using isa::Memory;
using isa::Operand;
using test::CodeOf;
using test::Dense;
using test::ElementMemory;
using test::ElementPlaces;
using test::Place;
using test::ValueOf;

constexpr std::uint32_t kSeed = 20260101;
constexpr int kCases = 150;
constexpr std::array kOps = {AluOp::kAdd, AluOp::kSubtract, AluOp::kMultiply,
                             AluOp::kMax, AluOp::kMin,      AluOp::kIsEqual};
constexpr std::array kTypes = {DType::kFp32, DType::kBf16, DType::kFp16, DType::kFp8E5M2,
                               DType::kInt32};

double Alu(AluOp op, double a, double b) {
  switch (op) {
    case AluOp::kAdd:
      return static_cast<float>(a + b);
    case AluOp::kSubtract:
      return static_cast<float>(a - b);
    case AluOp::kMultiply:
      return static_cast<float>(a * b);
    case AluOp::kMax:
      return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
    case AluOp::kMin:
      return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
    case AluOp::kIsEqual:
      return a == b ? 1 : 0;
  }
  return NAN;
}

// Shapes that fit together, each operand in a 1 KiB slot of its own.
class Cases {
 public:
  explicit Cases(ElementMemory& memory) : random_(memory.random()) { Next(); }

  void Next() {
    partitions_ = Pick(1, 5);
    rank_ = Pick(1, 3);
    for (int i = 0; i < rank_; ++i)
      sizes_[i] = Pick(1, 5);
    slot_ = 0;
  }
  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  template <typename T, std::size_t N>
  T PickOf(const std::array<T, N>& values) {
    return values[Pick(0, N - 1)];
  }

  Operand Make(DType dtype, bool source) {
    Operand o{.memory = Pick(0, 2) == 0 ? Memory::kPsum : Memory::kSbuf, .dtype = dtype};
    o.partition = 32 * Pick(0, 3);
    o.partitions = partitions_;
    o.offset = 1024 * slot_++ + SizeOf(dtype) * Pick(0, 10);  // in PSUM also within a word
    o.rank = rank_;
    std::int64_t stride = 1;
    for (int i = rank_ - 1; i >= 0; --i) {
      const bool broadcast = source && Pick(0, 5) == 0;
      stride += Pick(0, 3) == 0 ? Pick(1, 3) : 0;
      o.dims[i] = {.size = sizes_[i], .stride = broadcast ? 0 : stride};
      stride *= sizes_[i];
      if (stride * SizeOf(dtype) > 900)
        stride = 1;  // never reached with these sizes; keeps an operand inside its slot
    }
    return o;
  }
  Operand Column(DType dtype) {
    Operand o = Dense(Memory::kSbuf, dtype, Pick(0, 3) == 0 ? 1 : partitions_, {1});
    o.offset = 1024 * slot_++;
    o.partition = 32 * Pick(0, 3);
    return o;
  }

 private:
  std::mt19937& random_;
  std::int64_t partitions_ = 1;
  int rank_ = 1;
  std::array<std::int64_t, 3> sizes_{};
  int slot_ = 0;
};

// Runs `op` and expects each element i of dst, in row-major order, to be expected(i), and every
// other byte of SBUF and PSUM to stay.
template <typename Op>
void ExpectElements(ElementMemory& memory, const Op& op,
                    const std::function<std::uint32_t(std::size_t)>& expected) {
  const std::vector<Place> places = ElementPlaces(op.dst);
  std::vector<std::uint32_t> codes;
  for (std::size_t i = 0; i < places.size(); ++i)
    codes.push_back(expected(i));
  const std::vector<std::uint32_t> old = memory.Codes(op.dst);
  const std::vector<std::uint32_t> before = memory.Snapshot();

  Execute(op, memory.core());
  const std::string text = isa::ToText(isa::Instruction{.body = op});
  for (std::size_t i = 0; i < places.size(); ++i) {
    ASSERT_EQ(memory.Get(op.dst, places[i]), codes[i])
        << text << " element " << i << " seed " << kSeed << std::hex << " got "
        << memory.Get(op.dst, places[i]) << " expected " << codes[i];
  }
  memory.Fill(op.dst, old);
  ASSERT_TRUE(memory.Snapshot() == before) << text << " changed bytes beside its destination";
  memory.Fill(op.dst, codes);
}

bool AllInts(std::initializer_list<DType> types) {
  return std::all_of(types.begin(), types.end(), [](DType t) { return t == DType::kInt32; });
}

TEST(TensorOps, TensorTensorIsOneRoundingPerElement) {
  ElementMemory memory(kSeed);
  Cases cases(memory);
  for (int i = 0; i < kCases; ++i, cases.Next()) {
    const DType ta = cases.PickOf(kTypes), tb = cases.PickOf(kTypes), td = cases.PickOf(kTypes);
    if (AllInts({ta, tb, td}))
      continue;
    const isa::TensorTensor op{.op = cases.PickOf(kOps),
                               .dst = cases.Make(td, false),
                               .a = cases.Make(ta, true),
                               .b = cases.Make(tb, true)};
    const auto a = memory.Values(op.a), b = memory.Values(op.b);
    ExpectElements(memory, op, [&](std::size_t n) {
      return CodeOf(td, Alu(op.op, static_cast<float>(a[n]), static_cast<float>(b[n])));
    });
  }
}

TEST(TensorOps, TensorScalarAndScalarTensorTensorRoundEachStep) {
  ElementMemory memory(kSeed + 1);
  Cases cases(memory);
  for (int i = 0; i < kCases; ++i, cases.Next()) {
    const DType ts = cases.PickOf(kTypes), tt = cases.PickOf(kTypes);
    const DType td = cases.Pick(0, 1) == 0 ? DType::kFp32 : DType::kBf16;
    const Operand column = cases.Column(DType::kFp32);
    const isa::TensorScalar two{.dst = cases.Make(td, false),
                                .src = cases.Make(ts, true),
                                .op0 = cases.PickOf(kOps),
                                .scalar0 = column,
                                .op1 = cases.PickOf(kOps),
                                .scalar1 = 0.37f};
    const auto x = memory.Values(two.src);
    const auto s = memory.Values(column);
    const std::int64_t columns = two.dst.free_size();
    const auto scalar = [&](std::size_t n) { return s[s.size() == 1 ? 0 : n / columns]; };
    ExpectElements(memory, two, [&](std::size_t n) {
      const double first = Alu(two.op0, static_cast<float>(x[n]), scalar(n));
      return CodeOf(td, Alu(*two.op1, first, 0.37f));
    });

    cases.Next();
    const Operand factor = cases.Column(DType::kFp32);
    const isa::ScalarTensorTensor three{.dst = cases.Make(td, false),
                                        .data = cases.Make(ts, true),
                                        .op0 = cases.PickOf(kOps),
                                        .scalar = factor,
                                        .op1 = cases.PickOf(kOps),
                                        .tensor = cases.Make(tt, true)};
    const auto data = memory.Values(three.data), tensor = memory.Values(three.tensor);
    const auto f = memory.Values(factor);
    const std::int64_t width = three.dst.free_size();
    ExpectElements(memory, three, [&](std::size_t n) {
      const double first =
          Alu(three.op0, static_cast<float>(data[n]), f[f.size() == 1 ? 0 : n / width]);
      return CodeOf(td, Alu(three.op1, first, static_cast<float>(tensor[n])));
    });
  }
}

TEST(TensorOps, ReductionsGoLeftToRight) {
  ElementMemory memory(kSeed + 2);
  Cases cases(memory);
  for (int i = 0; i < kCases; ++i, cases.Next()) {
    isa::TensorReduce op{
        .op = cases.PickOf(kOps), .dst = {}, .src = cases.Make(DType::kBf16, true)};
    op.dst = Dense(Memory::kSbuf, DType::kFp32, op.src.partitions, {1}, 3072);
    const auto x = memory.Values(op.src);
    const std::int64_t columns = op.src.free_size();
    ExpectElements(memory, op, [&](std::size_t p) {
      double sum = x[p * columns];
      for (std::int64_t c = 1; c < columns; ++c)
        sum = Alu(op.op, sum, x[p * columns + c]);
      return CodeOf(DType::kFp32, sum);
    });
  }
}

TEST(TensorOps, ACopyOfOneTypeMovesBitsAndOthersConvert) {
  ElementMemory memory(kSeed + 3);
  Cases cases(memory);
  for (int i = 0; i < kCases; ++i, cases.Next()) {
    const DType ts = cases.PickOf(kTypes), td = cases.PickOf(kTypes);
    const isa::TensorCopy op{.dst = cases.Make(td, false), .src = cases.Make(ts, true)};
    const auto codes = memory.Codes(op.src);
    ExpectElements(memory, op, [&](std::size_t n) {
      return ts == td ? codes[n] : CodeOf(td, static_cast<float>(ValueOf(ts, codes[n])));
    });
  }
}

// The functions whose value needs no oracle of its own; the others are ops.activation's business.
TEST(TensorOps, AnActivationIsOfTheScaledSourcePlusABias) {
  ElementMemory memory(kSeed + 6);
  Cases cases(memory);
  for (int i = 0; i < kCases; ++i, cases.Next()) {
    const DType ts = cases.PickOf(kTypes), td = cases.PickOf(kTypes);
    const bool squared = cases.Pick(0, 1) == 1;
    isa::ActivationOp op{.function = squared ? Activation::kReluSquared : Activation::kIdentity,
                         .dst = cases.Make(td, false),
                         .src = cases.Make(ts, true),
                         .scale = cases.PickOf(std::array{1.0f, -1.0f, 0.3f})};
    if (cases.Pick(0, 2) > 0)
      op.bias = cases.Column(cases.PickOf(std::array{DType::kFp32, DType::kBf16}));
    const auto x = memory.Values(op.src);
    const auto bias = op.bias ? memory.Values(*op.bias) : std::vector<double>{0};
    const std::int64_t columns = op.src.free_size();
    ExpectElements(memory, op, [&](std::size_t n) {
      double value = static_cast<float>(x[n]);
      if (op.scale != 1 || op.bias)
        value = Alu(AluOp::kAdd, Alu(AluOp::kMultiply, value, op.scale),
                    bias[bias.size() == 1 ? 0 : n / columns]);
      if (squared && !std::isnan(value))
        value = static_cast<float>(value > 0 ? value * value : 0);
      return CodeOf(td, value);
    });
  }
}

TEST(TensorOps, AnActivationWithoutScaleAndBiasKeepsTheSignOfZero) {
  ElementMemory memory(kSeed + 7);
  constexpr std::uint32_t kMinusZero = 0x80000000;
  isa::ActivationOp op{.dst = Dense(Memory::kSbuf, DType::kFp32, 1, {1}, 0),
                       .src = Dense(Memory::kSbuf, DType::kFp32, 1, {1}, 1024)};
  const Operand zero = Dense(Memory::kSbuf, DType::kFp32, 1, {1}, 2048);
  memory.Fill(op.src, {kMinusZero});
  memory.Fill(zero, {0});
  ExpectElements(memory, op, [](std::size_t) { return kMinusZero; });
  op.bias = zero;
  ExpectElements(memory, op, [](std::size_t) { return 0u; });
}

// Before their rounding to dst's type, in the order of the elements, from +0.
TEST(TensorOps, AnActivationSumsTheElementsOfItsRows) {
  ElementMemory memory(kSeed + 8);
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  isa::ActivationOp op{.dst = Dense(Memory::kSbuf, DType::kBf16, 2, {4}, 0),
                       .src = Dense(Memory::kSbuf, DType::kFp32, 2, {4}, 1024),
                       .scale = 2.0f,
                       .reduce_res = Dense(Memory::kSbuf, DType::kFp32, 2, {1}, 2048)};
  // Row 0: 2^25 + 2 + 2 - 2^25, where 2^25 + 2 is a tie that goes to even, twice. Row 1: 257, which
  // bf16 has not, three times -0.
  memory.Fill(op.src, {bits(0x1p24f), bits(1), bits(1), bits(-0x1p24f), bits(128.5f), 0x80000000,
                       0x80000000, 0x80000000});
  Execute(op, memory.core());
  EXPECT_EQ(memory.Values(*op.reduce_res), (std::vector<double>{0, 257}));
  EXPECT_EQ(memory.Values(op.dst)[4], 256);
  // Sums may lie where a source of another row was.
  op.reduce_res = Dense(Memory::kSbuf, DType::kFp32, 2, {1}, 1024);
  Execute(op, memory.core());
  EXPECT_EQ(memory.Values(*op.reduce_res), (std::vector<double>{0, 257}));
  // Minus zeros alone sum to the +0 they start from; NaN is the one pattern.
  op = {.dst = Dense(Memory::kSbuf, DType::kFp32, 2, {2}, 0),
        .src = Dense(Memory::kSbuf, DType::kFp32, 2, {2}, 1024),
        .reduce_res = Dense(Memory::kPsum, DType::kFp32, 2, {1}, 0)};
  memory.Fill(op.src, {0x80000000, 0x80000000, 0xffc12345, bits(1)});
  Execute(op, memory.core());
  const auto sums = memory.Codes(*op.reduce_res);
  EXPECT_EQ(sums[0], 0u);
  EXPECT_EQ(sums[1], 0x7fc00000u);
}

TEST(TensorOps, MemsetWritesItsValueAndKeepsTheSignOfZero) {
  ElementMemory memory(kSeed + 4);
  Cases cases(memory);
  for (const float value : {0.0f, -0.0f, 1.1f, -70000.0f, 3e38f}) {
    for (int i = 0; i < 20; ++i, cases.Next()) {
      const DType type = cases.PickOf(kTypes);
      ExpectElements(memory, isa::Memset{.dst = cases.Make(type, false), .value = value},
                     [&](std::size_t) { return CodeOf(type, value); });
    }
  }
}

TEST(TensorOps, IotaCountsAndSaturates) {
  ElementMemory memory(kSeed + 5);
  Cases cases(memory);
  for (int i = 0; i < kCases; ++i, cases.Next()) {
    const bool far = cases.Pick(0, 3) == 0;
    isa::Iota op{.dst = cases.Make(DType::kInt32, false),
                 .base = far ? 2147483600 : cases.Pick(-100, 100),
                 .partition_step = cases.Pick(-50, 50),
                 .free_step = cases.Pick(-50, 50)};
    const std::int64_t columns = op.dst.free_size();
    ExpectElements(memory, op, [&](std::size_t n) {
      const std::int64_t p = n / columns, f = n % columns;
      return CodeOf(DType::kInt32, op.base + 1.0 * p * op.partition_step + 1.0 * f * op.free_step);
    });
  }
}

}  // namespace
}  // namespace bwmm::ops
