#include "host/dense_experts.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "host/file_io.h"
#include "host/join.h"
#include "host/tensor_file.h"
#include "model/numerics/convert.h"
#include "model/support/sim_error.h"

namespace bwmm::host {
namespace {

// llama2.c, version 0: seven int32, then fp32 tensors back to back, the layers of a tensor
// together.
struct Llama2cHeader {
  std::int32_t dim, hidden_dim, layers, heads, kv_heads, vocabulary, sequence;
};

DenseExperts LoadLlama2c(const std::filesystem::path& path, const LayerConfig& config) {
  const std::string place = path.string();
  const std::vector<std::byte> file = ReadFile(path);
  Llama2cHeader header{};
  if (file.size() < sizeof header)
    throw SimError("{}: {} bytes, a llama2.c checkpoint has at least {}", place, file.size(),
                   sizeof header);
  std::memcpy(&header, file.data(), sizeof header);
  if (header.dim != config.hidden || header.hidden_dim != config.intermediate ||
      header.layers != config.experts) {
    throw SimError(
        "{}: dim {}, hidden_dim {}, layers {}; the model has hidden {}, intermediate "
        "{}, experts {}",
        place, header.dim, header.hidden_dim, header.layers, config.hidden, config.intermediate,
        config.experts);
  }
  if (header.heads < 1 || header.dim % header.heads != 0 || header.kv_heads < 1 ||
      header.kv_heads > header.heads || header.vocabulary == 0) {
    throw SimError("{}: heads {}, kv heads {}, vocabulary {} are not a llama2.c header", place,
                   header.heads, header.kv_heads, header.vocabulary);
  }
  const std::size_t dim = header.dim;
  const std::size_t layers = header.layers;
  const std::size_t kv_dim = dim / header.heads * header.kv_heads;
  // A negative vocabulary marks an unshared classifier; the embedding has its magnitude.
  std::size_t at = static_cast<std::size_t>(std::abs(header.vocabulary)) * dim;
  at += layers * dim;                           // norm before attention
  at += layers * dim * (2 * dim + 2 * kv_dim);  // query, key, value, output
  at += layers * dim;                           // norm before the FFN
  const std::size_t matrix = layers * dim * header.hidden_dim;
  if ((file.size() - sizeof header) / sizeof(float) < at + 3 * matrix) {
    throw SimError("{}: {} bytes, the header needs {} or more", place, file.size(),
                   sizeof header + sizeof(float) * (at + 3 * matrix));
  }
  const auto read = [&](std::size_t first) {
    std::vector<float> values(matrix);
    std::memcpy(values.data(), file.data() + sizeof header + sizeof(float) * first,
                sizeof(float) * matrix);
    return values;
  };
  return {.gate = read(at), .up = read(at + 2 * matrix), .down = read(at + matrix)};
}

std::vector<float> LoadMatrix(const std::filesystem::path& path, const char* name,
                              const std::vector<std::int64_t>& shape) {
  const HostTensor tensor = LoadTensor({.path = path, .tensor = name}, {DType::kBf16});
  if (tensor.shape != shape) {
    throw SimError("{}: tensor '{}' has shape [{}], the model needs [{}]", path.string(), name,
                   Join(tensor.shape), Join(shape));
  }
  return ToFloats(tensor);
}

}  // namespace

std::vector<float> ToFloats(const HostTensor& tensor) {
  constexpr std::array kFloats = {DType::kFp32,      DType::kBf16,    DType::kFp16,
                                  DType::kFp8E4M3Fn, DType::kFp8E4M3, DType::kFp8E5M2};
  if (std::ranges::find(kFloats, tensor.dtype) == kFloats.end()) {
    throw SimError(
        "tensor '{}': dtype {}, allowed: float32, bfloat16, float16, float8_e4m3fn, "
        "float8_e4m3, float8_e5m2",
        tensor.name, NameOf(tensor.dtype));
  }
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  constexpr std::size_t kChunk = 1 << 20;
  for (std::size_t at = 0; at < values.size(); at += kChunk) {
    const int count = static_cast<int>(std::min(kChunk, values.size() - at));
    Widen(tensor.dtype, tensor.data.data() + at * SizeOf(tensor.dtype), SizeOf(tensor.dtype), count,
          values.data() + at);
  }
  return values;
}

DenseExperts LoadDenseExperts(const std::filesystem::path& path, const LayerConfig& config) {
  if (path.extension() == ".bin") {
    if (config.gate_up_bias || config.down_bias)
      throw SimError("{}: a llama2.c checkpoint has no biases, the model asks for them",
                     path.string());
    return LoadLlama2c(path, config);
  }
  if (path.extension() != ".safetensors")
    throw SimError("{}: extension '{}', weights come as .bin (llama2.c) or .safetensors",
                   path.string(), path.extension().string());
  const std::int64_t e = config.experts;
  const std::int64_t h = config.hidden;
  const std::int64_t i = config.intermediate;
  DenseExperts experts{.gate = LoadMatrix(path, "gate_proj", {e, i, h}),
                       .up = LoadMatrix(path, "up_proj", {e, i, h}),
                       .down = LoadMatrix(path, "down_proj", {e, h, i})};
  if (config.gate_up_bias) {
    experts.biases.gate = LoadMatrix(path, "gate_bias", {e, i});
    experts.biases.up = LoadMatrix(path, "up_bias", {e, i});
  }
  if (config.down_bias)
    experts.biases.down = LoadMatrix(path, "down_bias", {e, h});
  return experts;
}

}  // namespace bwmm::host
