#include "kernels/lang/core.h"

#include "model/support/sim_error.h"

namespace bwmm::lang {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

}  // namespace

Core::Core(isa::Sink& sink)
    : sink_(sink),
      sbuf_("sbuf", sink.limits().sbuf_bytes, 0),
      psum_("psum", sink.limits().psum_banks * sink.limits().psum_bank_bytes,
            sink.limits().psum_bank_bytes) {}

Tile Core::Make(Allocator& allocator, isa::Memory memory, const std::string& name, DType dtype,
                int partitions, std::initializer_list<std::int64_t> dims) {
  isa::Operand o{.memory = memory, .dtype = dtype, .partitions = partitions};
  const int most = memory == isa::Memory::kSbuf ? limits().partitions : limits().psum_partitions;
  if (partitions < 1 || partitions > most)
    throw SimError("tile {}: {} partitions, allowed 1..{}", name, partitions, most);
  if (dims.size() > isa::Operand::kMaxRank)
    throw SimError("tile {}: {} free dimensions, allowed 0..{}", name, dims.size(),
                   isa::Operand::kMaxRank);
  for (const std::int64_t size : dims) {
    if (size < 1)
      throw SimError("tile {}: a dimension of size {}, allowed 1 and up", name, size);
    o.dims[o.rank++] = {.size = size};
  }
  std::int64_t stride = 1;
  for (int i = o.rank - 1; i >= 0; --i) {
    o.dims[i].stride = stride;
    // No product leaves 64 bits; no partition comes near this.
    if (o.dims[i].size > kMostElements / stride)
      throw SimError("tile {}: over {} elements per partition", name, kMostElements);
    stride *= o.dims[i].size;
  }
  const Allocator::Range range = allocator.Allocate(name, stride * SizeOf(dtype));
  o.offset = range.offset;
  sink_.Allocated(memory, range.offset, range.bytes, name);
  return Tile(sink_, allocator, View(name, o, allocator, range.serial));
}

Tile Core::Sbuf(const std::string& name, DType dtype, int partitions,
                std::initializer_list<std::int64_t> dims) {
  return Make(sbuf_, isa::Memory::kSbuf, name, dtype, partitions, dims);
}

Tile Core::Psum(const std::string& name, DType dtype, int partitions,
                std::initializer_list<std::int64_t> dims) {
  return Make(psum_, isa::Memory::kPsum, name, dtype, partitions, dims);
}

RotatingTile Core::Rotating(Allocator& allocator, isa::Memory memory, const std::string& name,
                            int count, DType dtype, int partitions,
                            std::initializer_list<std::int64_t> dims) {
  if (count < 1)
    throw SimError("tile {}: {} rotating buffers, allowed 1 or more", name, count);
  RotatingTile tiles;
  for (int i = 0; i < count; ++i)
    tiles.Add(Make(allocator, memory, fmt::format("{}.{}", name, i), dtype, partitions, dims));
  return tiles;
}

RotatingTile Core::RotatingSbuf(const std::string& name, int count, DType dtype, int partitions,
                                std::initializer_list<std::int64_t> dims) {
  return Rotating(sbuf_, isa::Memory::kSbuf, name, count, dtype, partitions, dims);
}

RotatingTile Core::RotatingPsum(const std::string& name, int count, DType dtype, int partitions,
                                std::initializer_list<std::int64_t> dims) {
  return Rotating(psum_, isa::Memory::kPsum, name, count, dtype, partitions, dims);
}

void Core::nc_matmul(const View& dst, const View& stationary, const View& moving, Matmul options) {
  if (stationary.dtype() == DType::kFp32 && moving.dtype() == DType::kFp32)
    return MultiplyFp32(dst, stationary, moving, options);
  const PeMode mode = options.double_row ? PeMode::kDoubleRow : PeMode::kOrdinary;
  sink_.Emit(Engine::kTensor, isa::LoadStationary{.mode = mode, .stationary = stationary});
  sink_.Emit(Engine::kTensor,
             isa::MultiplyMoving{
                 .mode = mode, .dst = dst, .moving = moving, .accumulate = options.accumulate});
}

// The small products first; each stationary part meets both parts of the moving operand.
void Core::MultiplyFp32(const View& dst, const View& stationary, const View& moving,
                        Matmul options) {
  for (const PePart own : {PePart::kLow, PePart::kHigh}) {
    sink_.Emit(Engine::kTensor, isa::LoadStationary{.stationary = stationary, .part = own});
    for (const PePart other : {PePart::kLow, PePart::kHigh}) {
      sink_.Emit(
          Engine::kTensor,
          isa::MultiplyMoving{
              .dst = dst, .moving = moving, .accumulate = options.accumulate, .part = other});
      options.accumulate = true;
    }
  }
}

void Core::nc_matmul_mx(const View& dst, const View& stationary, const View& stationary_scale,
                        const View& moving, const View& moving_scale, Matmul options) {
  sink_.Emit(Engine::kTensor, isa::LoadStationary{.mode = PeMode::kMx,
                                                  .stationary = stationary,
                                                  .scale = stationary_scale.operand()});
  sink_.Emit(Engine::kTensor, isa::MultiplyMoving{.mode = PeMode::kMx,
                                                  .dst = dst,
                                                  .moving = moving,
                                                  .scale = moving_scale.operand(),
                                                  .accumulate = options.accumulate});
}

void Core::nc_transpose(const View& dst, const View& src) {
  sink_.Emit(Engine::kTensor, isa::LoadStationary{.mode = PeMode::kTranspose, .stationary = src});
  sink_.Emit(Engine::kTensor,
             isa::MultiplyMoving{.mode = PeMode::kTranspose, .dst = dst, .moving = src});
}

void Core::quantize_mx(const View& dst, const View& dst_scale, const View& src, ScaleRule rule) {
  sink_.Emit(Engine::kVector,
             isa::QuantizeMx{.dst = dst, .dst_scale = dst_scale, .src = src, .rule = rule});
}

void Core::tensor_tensor(const View& dst, const View& a, AluOp op, const View& b, Engine engine) {
  sink_.Emit(engine, isa::TensorTensor{.op = op, .dst = dst, .a = a, .b = b});
}

void Core::tensor_scalar(const View& dst, const View& src, AluOp op, const Scalar& scalar,
                         Engine engine) {
  sink_.Emit(engine, isa::TensorScalar{.dst = dst, .src = src, .op0 = op, .scalar0 = scalar.arg});
}

void Core::tensor_scalar(const View& dst, const View& src, AluOp op0, const Scalar& scalar0,
                         AluOp op1, const Scalar& scalar1, Engine engine) {
  sink_.Emit(engine, isa::TensorScalar{.dst = dst,
                                       .src = src,
                                       .op0 = op0,
                                       .scalar0 = scalar0.arg,
                                       .op1 = op1,
                                       .scalar1 = scalar1.arg});
}

void Core::scalar_tensor_tensor(const View& dst, const View& data, AluOp op0, const Scalar& scalar,
                                AluOp op1, const View& tensor, Engine engine) {
  sink_.Emit(engine, isa::ScalarTensorTensor{.dst = dst,
                                             .data = data,
                                             .op0 = op0,
                                             .scalar = scalar.arg,
                                             .op1 = op1,
                                             .tensor = tensor});
}

void Core::tensor_reduce(const View& dst, AluOp op, const View& src, Engine engine) {
  sink_.Emit(engine, isa::TensorReduce{.op = op, .dst = dst, .src = src});
}

void Core::tensor_copy(const View& dst, const View& src, Engine engine) {
  sink_.Emit(engine, isa::TensorCopy{.dst = dst, .src = src});
}

void Core::memset(const View& dst, float value, Engine engine) {
  sink_.Emit(engine, isa::Memset{.dst = dst, .value = value});
}

void Core::activation(const View& dst, Activation function, const View& src, float scale,
                      const View* bias, const View* reduce_res) {
  isa::ActivationOp op{.function = function, .dst = dst, .src = src, .scale = scale};
  if (bias != nullptr)
    op.bias = bias->operand();
  if (reduce_res != nullptr)
    op.reduce_res = reduce_res->operand();
  sink_.Emit(Engine::kScalar, op);
}

void Core::iota(const View& dst, std::int32_t base, std::int32_t partition_step,
                std::int32_t free_step) {
  sink_.Emit(
      Engine::kGpSimd,
      isa::Iota{
          .dst = dst, .base = base, .partition_step = partition_step, .free_step = free_step});
}

void Core::dma_copy(const View& dst, const View& src, const Dma& options) {
  // Software descriptors of a gather or scatter are GpSimd's work; static ones are triggered by
  // the Sync engine.
  const bool dynamic = options.gather || options.scatter;
  isa::DmaCopy op{.dst = dst,
                  .src = src,
                  .gather = options.gather,
                  .scatter = options.scatter,
                  .src_offset = options.src_offset};
  // A table has as many rows in flight as the index tensor has lanes.
  if (options.gather)
    op.src.partitions = dst.size(0);
  if (options.scatter)
    op.dst.partitions = src.size(0);
  sink_.Emit(dynamic ? Engine::kGpSimd : Engine::kSync, op);
}

void Core::dma_compute(const View& dst, const std::vector<View>& sources) {
  isa::DmaCompute op{.dst = dst};
  for (const View& source : sources)
    op.sources.push_back(source);
  sink_.Emit(Engine::kSync, std::move(op));
}

void Core::sendrecv(const View& dst, const View& src, int peer, int pipe_id) {
  sink_.Emit(Engine::kSync,
             isa::SendRecv{.dst = dst, .src = src, .peer = peer, .pipe_id = pipe_id});
}

void Core::core_barrier(const HbmTensor& data) {
  std::int64_t elements = 1;
  for (const std::int64_t size : data.shape)
    elements *= size;
  sink_.Emit(Engine::kGpSimd, isa::CoreBarrier{.data = data.Rows(elements)});
}

std::int32_t Core::register_load(const View& src) {
  return sink_.RegisterValue(sink_.Emit(Engine::kSync, isa::RegisterLoad{.src = src}));
}

}  // namespace bwmm::lang
