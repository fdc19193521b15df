// Functions the ScalarEngine's `activation` instruction applies.
#pragma once

#include <cstdint>
#include <string_view>

namespace bwmm {

enum class Activation : std::uint8_t {
  kIdentity,
  kSilu,         // x * sigmoid(x)
  kSwish,        // x * sigmoid(1.702 x), the GPT-OSS gate
  kGelu,         // x * Phi(x), exact
  kGeluTanh,     // the tanh approximation of GELU
  kReluSquared,  // max(x, 0)^2
  kSigmoid,
  kExp,
};
inline constexpr int kActivations = 8;

constexpr std::string_view NameOf(Activation function) {
  switch (function) {
    case Activation::kIdentity:
      return "identity";
    case Activation::kSilu:
      return "silu";
    case Activation::kSwish:
      return "swish";
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kReluSquared:
      return "relu_squared";
    case Activation::kSigmoid:
      return "sigmoid";
    case Activation::kExp:
      return "exp";
  }
  return "?";
}

}  // namespace bwmm
