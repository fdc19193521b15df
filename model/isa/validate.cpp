#include "model/isa/validate.h"

#include <fmt/format.h>

#include "model/isa/text.h"
#include "model/support/sim_error.h"

namespace bwmm::isa {
namespace {

// Moving rows per MultiplyMoving, by PSUM element size: all 8 banks on gen4, one bank before.
constexpr std::int64_t kMaxMovingGen4Fp32 = 4096;
constexpr std::int64_t kMaxMovingGen3 = 512;

class Validator {
 public:
  Validator(const Instruction& instruction, const Limits& limits)
      : instruction_(instruction), limits_(limits) {}

  void operator()(const LoadStationary& i) const {
    RequireMx(i.mode, i.scale.has_value());
    Require(i.stationary.memory == Memory::kSbuf, "stationary must be in SBUF", i.stationary);
    Place(i.stationary);
    Require(i.stationary.free_size() <= 128, "stationary free size must be at most 128",
            i.stationary);
    if (i.mode == PeMode::kMx) {
      Require(i.stationary.partitions % 32 == 0, "MX partitions must be a multiple of 32",
              i.stationary);
      Require(i.stationary.free_size() % 2 == 0, "MX stationary free size must be even",
              i.stationary);
      Require(IsX4(i.stationary.dtype), "MX operands must be x4 types", i.stationary);
      Scale(*i.scale);
    } else if (i.mode == PeMode::kOrdinary) {
      PeType(i.stationary);
    }
  }

  void operator()(const MultiplyMoving& i) const {
    RequireMx(i.mode, i.scale.has_value());
    Require(i.dst.memory == Memory::kPsum, "dst must be in PSUM", i.dst);
    Place(i.dst);
    const std::int64_t widest =
        limits_.generation >= 4 ? kMaxMovingGen4Fp32 * 4 / SizeOf(i.dst.dtype) : kMaxMovingGen3;
    Require(i.dst.free_size() <= widest, fmt::format("moving free size must be at most {}", widest),
            i.dst);
    if (i.mode == PeMode::kTranspose) {
      Require(!i.accumulate, "a transpose never accumulates", i.dst);
      return;
    }
    Require(i.moving.memory == Memory::kSbuf, "moving must be in SBUF", i.moving);
    Place(i.moving);
    Require(i.moving.free_size() == i.dst.free_size(),
            fmt::format("moving free size must equal dst's, {}", i.dst.free_size()), i.moving);
    Require(i.dst.dtype == DType::kFp32 || (i.dst.dtype == DType::kBf16 && limits_.generation >= 4),
            limits_.generation >= 4 ? "dst must be float32 or bfloat16" : "dst must be float32",
            i.dst);
    if (i.mode == PeMode::kMx) {
      Require(IsX4(i.moving.dtype), "MX operands must be x4 types", i.moving);
      Scale(*i.scale);
    } else {
      PeType(i.moving);
    }
  }

  void operator()(const QuantizeMx& i) const {
    if (limits_.generation < 4)
      Refuse(fmt::format("quantize_mx needs generation 4 (trn3), this machine is generation {}",
                         limits_.generation));
    Require(i.src.memory == Memory::kSbuf, "src must be in SBUF", i.src);
    Require(i.src.dtype == DType::kBf16 || i.src.dtype == DType::kFp16,
            "src must be bfloat16 or float16", i.src);
    Require(i.dst.dtype == DType::kFp8E4M3FnX4 || i.dst.dtype == DType::kFp8E5M2X4,
            "dst must be float8_e4m3fn_x4 or float8_e5m2_x4", i.dst);
    Require(i.src.partitions % 32 == 0, "partitions must be a multiple of 32", i.src);
    Require(i.src.free_size() == 4 * i.dst.free_size(), "src must have 4 elements per dst word",
            i.src);
    Require(i.src.contiguous_run() == i.src.free_size(), "src must be dense", i.src);
    Place(i.src);
    Place(i.dst);
    Scale(i.dst_scale);
  }

  void operator()(const ActivationOp& i) const { Elementwise(i.dst, {&i.src}); }
  void operator()(const TensorTensor& i) const {
    Elementwise(i.dst, {&i.a, &i.b});
    if (i.a.memory == Memory::kPsum && i.b.memory == Memory::kPsum)
      Refuse("at most one input may be in PSUM");
  }
  void operator()(const TensorScalar& i) const { Elementwise(i.dst, {&i.src}); }
  void operator()(const ScalarTensorTensor& i) const { Elementwise(i.dst, {&i.data, &i.tensor}); }
  void operator()(const TensorCopy& i) const { Elementwise(i.dst, {&i.src}); }
  void operator()(const TensorReduce& i) const {
    Local(i.dst);
    Local(i.src);
  }
  void operator()(const Memset& i) const { Local(i.dst); }
  void operator()(const Iota& i) const { Local(i.dst); }
  void operator()(const DmaCopy& i) const {
    for (const Operand* operand : {&i.dst, &i.src})
      Require(operand->memory != Memory::kPsum, "DMA reaches HBM and SBUF only", *operand);
    Require(i.dst.free_size() == i.src.free_size(),
            fmt::format("src must have dst's {} elements per row", i.dst.free_size()), i.src);
    Require(i.dst.partitions == i.src.partitions || i.src.partitions == 1,
            fmt::format("src must have dst's {} rows, or one to broadcast", i.dst.partitions),
            i.src);
    Require(!IsX4(i.dst.dtype) || i.dst.dtype == i.src.dtype, "x4 types are never converted",
            i.dst);
  }
  void operator()(const SendRecv& i) const {
    Require(i.src.memory == Memory::kSbuf, "src must be in SBUF", i.src);
    Require(i.dst.memory == Memory::kSbuf, "dst must be in SBUF", i.dst);
    Require(i.src.dtype == i.dst.dtype && i.src.partitions == i.dst.partitions &&
                i.src.free_size() == i.dst.free_size(),
            "src must have dst's shape and type", i.src);
  }
  void operator()(const DmaCompute&) const {}
  void operator()(const CoreBarrier& i) const {
    Require(i.data.memory == Memory::kHbm, "data must be a shared HBM tensor", i.data);
  }
  void operator()(const RegisterLoad& i) const {
    Require(i.src.elements() == 1 && i.src.dtype == DType::kInt32, "src must be one int32", i.src);
  }

 private:
  [[noreturn]] void Refuse(const std::string& why) const {
    throw SimError("instruction {} ({}) on core {}: {}", instruction_.id, OpcodeOf(instruction_),
                   instruction_.core, why);
  }
  void Require(bool holds, const std::string& rule, const Operand& operand) const {
    if (!holds)
      Refuse(fmt::format("{}; it is {}", rule, ToText(operand)));
  }

  void RequireMx(PeMode mode, bool has_scale) const {
    if (mode == PeMode::kMx && limits_.generation < 4)
      Refuse(fmt::format("MX matmul needs generation 4 (trn3), this machine is generation {}",
                         limits_.generation));
    if ((mode == PeMode::kMx) != has_scale)
      Refuse("MX operands have scales, others have none");
  }

  // Start partition rule of SBUF and PSUM accesses, and that the bytes exist.
  void Place(const Operand& operand) const {
    if (operand.memory == Memory::kHbm)
      return;
    const std::int64_t count = operand.partitions;
    const int start = operand.partition;
    const bool aligned = count > 64 ? start == 0 : count > 32 ? start % 64 == 0 : start % 32 == 0;
    Require(aligned,
            "start partition must be 0 (over 64 partitions), 0 or 64 (33 to 64) or a "
            "multiple of 32",
            operand);
    Require(start + count <= limits_.partitions,
            fmt::format("partitions must end at most at {}", limits_.partitions), operand);
    const std::int64_t bytes = operand.memory == Memory::kSbuf
                                   ? limits_.sbuf_bytes
                                   : limits_.psum_banks * limits_.psum_bank_bytes;
    Require(static_cast<std::int64_t>(operand.offset) + operand.span_bytes() <= bytes,
            fmt::format("must end at most at byte {} of its partition", bytes), operand);
  }

  void Local(const Operand& operand) const {
    Require(operand.memory != Memory::kHbm, "engines reach SBUF and PSUM, not HBM", operand);
    Require(!IsX4(operand.dtype), "x4 types have no element arithmetic", operand);
    Require(!(instruction_.engine == Engine::kGpSimd && operand.memory == Memory::kPsum),
            "GpSimd does not reach PSUM", operand);
    Place(operand);
  }

  void Elementwise(const Operand& dst, std::initializer_list<const Operand*> sources) const {
    Local(dst);
    for (const Operand* source : sources) {
      Local(*source);
      Require(source->free_size() == dst.free_size() && source->partitions == dst.partitions,
              fmt::format("must have dst's {} x {} elements", dst.partitions, dst.free_size()),
              *source);
    }
  }

  void PeType(const Operand& operand) const {
    const DType type = operand.dtype;
    const bool half = type == DType::kBf16 || type == DType::kFp16;
    const bool fp8 = type == DType::kFp8E5M2 ||
                     type == (limits_.generation >= 4 ? DType::kFp8E4M3Fn : DType::kFp8E4M3) ||
                     type == DType::kFp8E4M3;
    Require(half || fp8, "PE operands are bfloat16, float16 or fp8 (e4m3fn on generation 4 only)",
            operand);
  }

  void Scale(const Operand& scale) const {
    Require(scale.memory == Memory::kSbuf, "a scale must be in SBUF", scale);
    Require(scale.dtype == DType::kE8M0 || scale.dtype == DType::kUint8,
            "a scale must be float8_e8m0fnu or uint8", scale);
    Require(scale.partition % 32 % 4 == 0 && scale.partition % 32 <= 12,
            "a scale must start at partition 0, 4, 8 or 12 of its quadrant", scale);
  }

  const Instruction& instruction_;
  const Limits& limits_;
};

}  // namespace

void Validate(const Instruction& instruction, const Limits& limits) {
  std::visit(Validator(instruction, limits), instruction.body);
}

}  // namespace bwmm::isa
