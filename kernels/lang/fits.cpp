#include "kernels/lang/fits.h"

namespace bwmm::lang {
namespace {

class TrialSink final : public isa::Sink {
 public:
  explicit TrialSink(const Core& nki) : core_(nki.program_id()), limits_(nki.limits()) {}
  int core() const override { return core_; }
  const isa::Limits& limits() const override { return limits_; }
  std::uint32_t Emit(Engine, isa::Body) override { return 0; }
  std::int32_t RegisterValue(std::uint32_t) override {
    throw CheckFailure("a trial has no device to load a register from");
  }

 private:
  int core_;
  const isa::Limits& limits_;
};

}  // namespace

bool Fits(const Core& nki, const std::function<void(Core&)>& allocate) {
  TrialSink sink(nki);
  Core trial(sink, nki);
  try {
    allocate(trial);
  } catch (const DoesNotFit&) {
    return false;
  }
  return true;
}

}  // namespace bwmm::lang
