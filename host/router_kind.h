// How a router turns its top-k scores into weights.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bwmm::host {

enum class RouterKind : std::uint8_t {
  kSoftmaxRenorm,  // softmax over the chosen k; softmax over all, then division by the sum of the k
  kSoftmax,        // softmax over all experts, not normalised again (OLMoE)
  kSigmoidRenorm,  // sigmoid of each score, divided by the sum of the k (DeepSeek-V3, MiniMax)
  kSigmoid,        // sigmoid of each score (Llama 4)
  kUniform,        // 1 / k: for traces that publish ids without weights
};

inline constexpr std::array<std::string_view, 5> kRouterNames = {
    "softmax_renorm", "softmax", "sigmoid_renorm", "sigmoid", "uniform"};

constexpr std::string_view NameOf(RouterKind kind) {
  return kRouterNames[static_cast<std::size_t>(kind)];
}

}  // namespace bwmm::host
