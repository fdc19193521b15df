// What a blockwise MoE layer must give, in double precision, with a bound on what rounding may
// change. Shares no code with the machine: standard library only, formats decoded from their
// fields.
//
//   out[t] += affinity(t, e) * (down_e(act(clamp(gate_e(x))) * clamp(up_e(x))) + down_bias_e)
//
// for every block row with a real token t, x = hidden[t]. With MX weights x is first quantised as
// quantize_mx does it (e4m3fn, one scale per 8 partitions x 4 lanes): that step is deterministic
// and part of the meaning. The intermediate is not quantised; its quantisation is in the bound.
// docs/numerics.md, "Error bounds of a run", derives the bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bwmm::reference {

enum class Weights { kBf16, kFp8E4M3Fn, kMxE2M1, kMxE4M3Fn, kMxE5M2 };

constexpr bool IsMx(Weights weights) {
  return weights != Weights::kBf16 && weights != Weights::kFp8E4M3Fn;
}

enum class Function { kIdentity, kSilu, kSwish, kGelu, kGeluTanh, kReluSquared, kSigmoid, kExp };

// Where the affinity multiplies: nowhere, after the down projection, or on the hidden row (rounded
// to bf16 again, before any quantisation).
enum class Scaling { kNone, kPost, kPre };

// Tensors as the kernels read them; layouts as in host/layer_shape.h.
struct MoeCteProblem {
  int tokens = 0;        // T; hidden rows and affinities of token T are never read
  int hidden = 0;        // padded, a multiple of 512 with MX weights
  int intermediate = 0;  // padded, a multiple of 512 with MX weights
  int experts = 0;
  int blocks = 0;
  int block_size = 0;
  const std::int32_t* token_position_to_id =
      nullptr;                                    // [blocks * block_size]; pads are < 0 or >= T
  const std::int32_t* block_to_expert = nullptr;  // [blocks]

  const std::uint16_t* hidden_rows = nullptr;      // bf16 [T, H]
  const std::uint16_t* affinities_bf16 = nullptr;  // [T * E], or
  const float* affinities_fp32 = nullptr;

  Weights weights = Weights::kBf16;
  const void* gate_up_weight = nullptr;
  const void* gate_up_scale = nullptr;  // E8M0 bytes with MX, fp32 with fp8
  const void* down_weight = nullptr;
  const void* down_scale = nullptr;
  const std::uint16_t* gate_up_bias = nullptr;  // bf16, nullptr: none
  const std::uint16_t* down_bias = nullptr;

  Function activation = Function::kSilu;
  double gate_lower = -std::numeric_limits<double>::infinity();
  double gate_upper = std::numeric_limits<double>::infinity();
  double up_lower = -std::numeric_limits<double>::infinity();
  double up_upper = std::numeric_limits<double>::infinity();
  Scaling scaling = Scaling::kPost;

  bool ocp_rule = false;            // scale rule of the hidden rows' quantisation: x2, or OCP floor
  bool split_intermediate = false;  // each core sums a share of I; a bf16 exchange adds the shares
  int cores = 2;                    // with a share of I each, or with whole blocks and a plane each
  bool affinity_on_i = false;       // kPost: the affinity multiplies the intermediate instead
  bool worst_case = false;          // bound by sums of magnitudes, no statistics
  int columns = 0;                  // of H that are no padding; 0: all
  int threads = 2;
};

// What an element may turn out to be; a set of them is a sum. kFinite: a number inside its bound.
enum Outcome : std::uint8_t { kFinite = 1, kPositiveInf = 2, kNegativeInf = 4, kNaN = 8 };

struct MoeCteResult {
  int tokens = 0;
  int hidden = 0;
  int columns = 0;                  // of `hidden` that are no padding; 0: all
  std::vector<double> output = {};  // [T, H]; a token without rows is 0
  std::vector<double> bound = {};   // |machine - output| may be this much
  // Its standard deviation, were the roundings uniform. Empty: no statistics, the bound is the
  // rule.
  std::vector<double> sigma = {};
  // Sets of Outcome; empty: what `output` is. More than one only where a value comes so close to
  // the end of fp32 or bf16 that its bound reaches across.
  std::vector<std::uint8_t> outcomes = {};
};

MoeCteResult RunMoeCte(const MoeCteProblem& problem);

// Why a comparison fails; the first of these that applies.
enum class Rule {
  kNone,
  kNothingCompared,  // no element has a distance to measure
  kOnlyZeros,        // every element is zero
  kOutcome,          // NaN, Inf or a number where the documented path gives something else
  kBound,            // a number further off than its bound
  kRms,              // a row whose root mean square is further off than roundings can be
};

// No rounding error exceeds its bound, sqrt(3) times the sigma a uniform one would have: with signs
// that do not conspire, the root mean square of a row stays below that many sigmas.
inline constexpr double kMaxRmsRatio = 2;
// Of fewer elements a root mean square says little: one of a bell curve is beyond two sigmas once
// in twenty times, 32 together once in 10^17. Shorter rows are taken together until they have as
// many.
inline constexpr int kRmsElements = 32;

struct Comparison {
  // Largest |difference| / largest |output| within a row, over all rows.
  double max_row_rel = 0;
  // Largest |difference| in bf16 units in the last place of the expected value; values below 1/256
  // of their row's largest count as that, for cancellation leaves nothing to be exact about.
  double max_ulp_bf16 = 0;
  // Largest |difference| / bound, and largest root mean square of a row / that of its sigma. The
  // second sees a systematic error of a few per cent that the first, made for outliers, lets by.
  double max_bound_ratio = 0;
  double max_rms_ratio = 0;
  int worst_rms_token = -1;
  // Elements without padding that are numbers, as expected, and have a finite bound.
  std::int64_t count = 0;
  std::int64_t outside = 0;         // elements that break kOutcome or kBound
  std::int64_t wrong_outcomes = 0;  // of them, those that break kOutcome
  // The first wrong outcome, else the largest |difference| / bound; none if all are exact.
  int worst_token = -1;
  int worst_column = -1;
  double worst_value = 0, worst_expected = 0, worst_bound = 0;
  Rule failed = Rule::kNone;
  bool pass = false;
};

// `rows` is bf16 [T or more, H].
Comparison Compare(const MoeCteResult& expected, const std::uint16_t* rows);

}  // namespace bwmm::reference
