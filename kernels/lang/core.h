// The kernel language: what a kernel may say to one core, in NKI's own names.
//
//   nki.dma_copy(x, hidden);                              HBM -> SBUF
//   nki.nc_matmul(acc, w, x, {.accumulate = k > 0});      SBUF -> PE -> PSUM
//   nki.activation(y, Activation::kSilu, acc);            PSUM -> SBUF
//
// Every call emits instructions into the sink in program order and returns at once; what they
// overlap with is the machine's business. Tiles are really allocated, and freed when they go out
// of scope; instructions already emitted keep their meaning, because the machine finds write after
// read by address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/lang/allocator.h"
#include "kernels/lang/view.h"
#include "model/isa/sink.h"
#include "model/support/check.h"

namespace bwmm::lang {

using isa::AluOp;
using isa::Engine;

// A buffer in SBUF or PSUM that frees itself. Move-only; converts to the View of all of it.
class Tile {
 public:
  // The tile of a new range, which the sink is told of.
  Tile(isa::Sink& sink, Allocator& allocator, View view)
      : sink_(&sink), allocator_(&allocator), view_(std::move(view)) {}
  Tile(Tile&& other) noexcept
      : sink_(other.sink_),
        allocator_(std::exchange(other.allocator_, nullptr)),
        view_(std::move(other.view_)) {}
  Tile& operator=(Tile&&) = delete;
  ~Tile() {
    if (allocator_ == nullptr)
      return;
    const isa::Operand& operand = view_.operand();
    sink_->Freed(operand.memory, operand.offset);
    allocator_->Free(operand.offset);
  }

  const View& view() const { return view_; }
  operator const View&() const { return view_; }
  const View* operator->() const { return &view_; }

 private:
  isa::Sink* sink_;
  Allocator* allocator_;
  View view_;
};

// The same buffer `count` times, used in turn: tiles[i] is buffer i mod count.
class RotatingTile {
 public:
  void Add(Tile tile) { tiles_.push_back(std::move(tile)); }
  const View& operator[](std::int64_t i) const {
    Check(i >= 0 && !tiles_.empty(), "a rotating tile has buffers, counted from 0");
    return tiles_[i % tiles_.size()].view();
  }
  int count() const { return static_cast<int>(tiles_.size()); }

 private:
  std::vector<Tile> tiles_;
};

// Scalar operand of tensor_scalar and scalar_tensor_tensor: a constant or a [P, 1] view.
struct Scalar {
  Scalar(float value) : arg(value) {}
  Scalar(const View& view) : arg(view.operand()) {}
  isa::ScalarArg arg;
};

struct Matmul {
  bool accumulate = false;
  bool double_row = false;  // of fp8 [K, 2, M] and [K, 2, N]: a contraction of 2 K
};

struct Dma {
  std::optional<isa::VectorOffset> gather = std::nullopt;
  std::optional<isa::VectorOffset> scatter = std::nullopt;
  std::optional<isa::ScalarOffset> src_offset = std::nullopt;
};

class Core {
 public:
  explicit Core(isa::Sink& sink);
  // Its memories as `other` has filled them; what it emits goes to `sink`.
  Core(isa::Sink& sink, const Core& other) : sink_(sink), sbuf_(other.sbuf_), psum_(other.psum_) {}

  int program_id() const { return sink_.core(); }
  int num_programs() const { return sink_.limits().cores; }
  const isa::Limits& limits() const { return sink_.limits(); }

  // [partitions, dims...]
  Tile Sbuf(const std::string& name, DType dtype, int partitions,
            std::initializer_list<std::int64_t> dims);
  Tile Psum(const std::string& name, DType dtype, int partitions,
            std::initializer_list<std::int64_t> dims);
  RotatingTile RotatingSbuf(const std::string& name, int count, DType dtype, int partitions,
                            std::initializer_list<std::int64_t> dims);
  RotatingTile RotatingPsum(const std::string& name, int count, DType dtype, int partitions,
                            std::initializer_list<std::int64_t> dims);
  // How often a PSUM buffer rotates: kernels are laid out for 8 banks, and another number of banks
  // scales every depth, so that few banks cost overlap and many gain it.
  static constexpr int kPsumBanks = 8;
  int psum_depth(int at_eight_banks) const {
    return std::max(1, at_eight_banks * limits().psum_banks / kPsumBanks);
  }

  // TensorEngine
  // dst [M, N] = stationary [K, M]^T moving [K, N]; of two fp32 operands four passes
  void nc_matmul(const View& dst, const View& stationary, const View& moving, Matmul options);
  void nc_matmul_mx(const View& dst, const View& stationary, const View& stationary_scale,
                    const View& moving, const View& moving_scale, Matmul options);
  // dst [F, P] = src [P, F]^T, bits unchanged
  void nc_transpose(const View& dst, const View& src);

  // VectorEngine, unless another engine is named
  void quantize_mx(const View& dst, const View& dst_scale, const View& src,
                   ScaleRule rule = ScaleRule::kX2);
  void tensor_tensor(const View& dst, const View& a, AluOp op, const View& b,
                     Engine engine = Engine::kVector);
  void tensor_scalar(const View& dst, const View& src, AluOp op, const Scalar& scalar,
                     Engine engine = Engine::kVector);
  void tensor_scalar(const View& dst, const View& src, AluOp op0, const Scalar& scalar0, AluOp op1,
                     const Scalar& scalar1, Engine engine = Engine::kVector);
  void scalar_tensor_tensor(const View& dst, const View& data, AluOp op0, const Scalar& scalar,
                            AluOp op1, const View& tensor, Engine engine = Engine::kVector);
  void tensor_reduce(const View& dst, AluOp op, const View& src, Engine engine = Engine::kVector);
  void tensor_copy(const View& dst, const View& src, Engine engine = Engine::kVector);
  void memset(const View& dst, float value, Engine engine = Engine::kVector);

  // dst [P, 8] = the eight largest of src [P, N], descending
  void max8(const View& dst, const View& src) {
    sink_.Emit(Engine::kVector, isa::Max8{.dst = dst, .src = src});
  }

  // ScalarEngine: dst = function(src * scale + bias); reduce_res [P, 1] = the sums of its rows
  void activation(const View& dst, Activation function, const View& src, float scale = 1.0f,
                  const View* bias = nullptr, const View* reduce_res = nullptr);

  // GpSimd: dst[p, f] = base + p * partition_step + f * free_step
  void iota(const View& dst, std::int32_t base, std::int32_t partition_step,
            std::int32_t free_step = 0);

  // DMA
  void dma_copy(const View& dst, const View& src, const Dma& options = {});
  void dma_compute(const View& dst, const std::vector<View>& sources);

  // Meetings of cores
  void sendrecv(const View& dst, const View& src, int peer, int pipe_id = 0);
  void core_barrier(const HbmTensor& data);

  // Control: the value the device loaded, when it has loaded it.
  std::int32_t register_load(const View& src);

 private:
  void MultiplyFp32(const View& dst, const View& stationary, const View& moving, Matmul options);
  Tile Make(Allocator& allocator, isa::Memory memory, const std::string& name, DType dtype,
            int partitions, std::initializer_list<std::int64_t> dims);
  RotatingTile Rotating(Allocator& allocator, isa::Memory memory, const std::string& name,
                        int count, DType dtype, int partitions,
                        std::initializer_list<std::int64_t> dims);

  isa::Sink& sink_;
  Allocator sbuf_;
  Allocator psum_;
};

}  // namespace bwmm::lang
