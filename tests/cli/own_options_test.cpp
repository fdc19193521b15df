// Options of a workload of one's own that no run can have: a name of the runner's, an output that
// is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/command_line.h"
#include "kernels/lang/core.h"
#include "model/support/sim_error.h"
#include "workloads/registry.h"
#include "workloads/tensors.h"

namespace bwmm::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using workloads::Option;

int runs = 0;  // programs emitted, the dry run's too

// Writes a row of ones.
class Ones : public workloads::Workload {
 public:
  explicit Ones(std::vector<Option> options) : options_(std::move(options)) {}

  std::vector<Option> options() override { return options_; }
  void Prepare(const workloads::Setup& setup) override {
    runs = 0;
    tensors_ = workloads::Tensors(setup.hbm_bytes(), setup.with_data);
    y_ = tensors_.Output("y", DType::kBf16, {1, 8});
  }
  ops::Hbm& hbm() override { return tensors_.hbm(); }
  void Run(isa::Sink& sink) const override {
    ++runs;
    lang::Core nki(sink);
    if (nki.program_id() != 0)
      return;
    const lang::Tile ones = nki.Sbuf("ones", DType::kBf16, 1, {8});
    nki.memset(ones, 1.0f);
    nki.dma_copy(y_.At(), ones);
  }
  workloads::Facts facts() const override { return {}; }
  std::vector<host::HostTensor> Outputs() override { return {tensors_.Fetch("y")}; }
  workloads::Verdict Judge() override { return {.skipped = "ones"}; }

 private:
  std::vector<Option> options_;
  workloads::Tensors tensors_;
  lang::HbmTensor y_;
};

int number = 0;
std::string path;

const workloads::Registration kClash(
    {.name = "clash", .help = "", .make = [] {
       return std::unique_ptr<workloads::Workload>(new Ones({{"--seed", "", &number}}));
     }});
const workloads::Registration kNoDashes(
    {.name = "no_dashes", .help = "", .make = [] {
       return std::unique_ptr<workloads::Workload>(new Ones({{"- rows", "", &number}}));
     }});
const workloads::Registration kOutput({.name = "output", .help = "", .make = [] {
                                         return std::unique_ptr<workloads::Workload>(new Ones(
                                             {workloads::OutputTensor("--z", "", path, "z")}));
                                       }});

// An output and an input that have paths of their own.
const std::string kIn = ::testing::TempDir() + "own_options_in.txt";
const std::string kOut = ::testing::TempDir() + "own_options_out.npy";
std::string in;
const workloads::Registration kPaths({.name = "paths", .help = "", .make = [] {
                                        in = kIn;
                                        path = kOut;
                                        return std::unique_ptr<workloads::Workload>(new Ones(
                                            {workloads::InputFile("--in", "", in),
                                             workloads::OutputTensor("--z", "", path, "y")}));
                                      }});

// One option that no run can have.
Option given;
const workloads::Registration kGiven({.name = "given", .help = "", .make = [] {
                                        return std::unique_ptr<workloads::Workload>(
                                            new Ones({given}));
                                      }});

void ExpectRefused(const Option& option, const std::string& text) {
  given = option;
  EXPECT_THAT(([] {
                RunCommandLine({"run", "--workload", "given"});
              }),
              ThrowsMessage<SimError>(HasSubstr("workload given: option " + text)))
      << option.name;
}

// Reads a tensor that no option names, and throws where it is told to.
enum class Throws { kNothing, kOptions, kPrepare, kRun, kJudge };
Throws throws = Throws::kNothing;
std::string weights;
class Odd final : public Ones {
 public:
  Odd() : Ones({}) {}
  std::vector<Option> options() override {
    ThrowIf(Throws::kOptions);
    return {};
  }
  void Prepare(const workloads::Setup& setup) override {
    ThrowIf(Throws::kPrepare);
    Ones::Prepare(setup);
    setup.reads({"odd.weights", weights});
    workloads::TensorFrom("w", weights, DType::kBf16, {4}, setup);
  }
  void Run(isa::Sink& sink) const override {
    Ones::Run(sink);
    ThrowIf(Throws::kRun);
  }
  workloads::Verdict Judge() override {
    ThrowIf(Throws::kJudge);
    return Ones::Judge();
  }

 private:
  static void ThrowIf(Throws here) {
    if (throws == here)
      throw 42;
  }
};
const workloads::Registration kOdd({.name = "odd", .help = "", .make = workloads::Make<Odd>});
const workloads::Registration kNone({.name = "none", .help = "", .make = [] {
                                       return std::unique_ptr<workloads::Workload>();
                                     }});

// One buffer larger than SBUF.
class Wide final : public Ones {
 public:
  Wide() : Ones({}) {}
  void Run(isa::Sink& sink) const override {
    lang::Core nki(sink);
    const lang::Tile wide = nki.Sbuf("wide", DType::kBf16, 128, {1 << 20});
  }
  std::string WhatWouldFit(const workloads::Setup&) const override { return "2 of 8 fit"; }
};
const workloads::Registration kWide({.name = "wide", .help = "", .make = workloads::Make<Wide>});

TEST(OwnOptions, RejectsBuffersThatDoNotFitWithWhatWould) {
  EXPECT_THAT(([] {
                RunCommandLine({"run", "--workload", "wide"});
              }),
              ThrowsMessage<SimError>(AllOf(HasSubstr("wide"), HasSubstr("; 2 of 8 fit"))));
}

TEST(OwnOptions, RejectsOneOfTheRunners) {
  EXPECT_THAT(([] {
                RunCommandLine({"run", "--workload", "clash"});
              }),
              ThrowsMessage<SimError>(HasSubstr("workload clash: option --seed, allowed")));
}

TEST(OwnOptions, RejectsANameThatIsNone) {
  EXPECT_THAT(([] {
                RunCommandLine({"run", "--workload", "no_dashes"});
              }),
              ThrowsMessage<SimError>(HasSubstr("workload no_dashes: option - rows, allowed")));
}

TEST(OwnOptions, RejectsEveryNameThatIsNotOne) {
  for (const char* name : {"-o,--out", "--out,-o", "--out,--out2", "-o", "out", "--", "--1",
                           "--a=b", "--a b", "--a!", "{--a}", "--flag{7}", "---a", ""})
    ExpectRefused({name, "", &number}, std::string(name) + ", allowed one name: --");
}

TEST(OwnOptions, RejectsWhatIsThrownWithoutWords) {
  for (const Throws where : {Throws::kOptions, Throws::kPrepare, Throws::kRun, Throws::kJudge}) {
    throws = where;
    EXPECT_THAT(([] {
                  RunCommandLine({"run", "--workload", "odd"});
                }),
                ThrowsMessage<SimError>(HasSubstr("workload odd: threw something without words")));
  }
  throws = Throws::kNothing;
}

TEST(OwnOptions, RejectsAMakeThatGivesNone) {
  EXPECT_THAT(([] {
                RunCommandLine({"run", "--workload", "none"});
              }),
              ThrowsMessage<SimError>(HasSubstr("workload none: make gives none, allowed")));
}

TEST(OwnOptions, RejectsAFileWithTheNameOfWhatReadsIt) {
  for (const std::string file : {"no.npy", "no.npy:bfloat16", "no.npy:float31"}) {
    weights = file;
    EXPECT_THAT(([] {
                  RunCommandLine({"run", "--workload", "odd"});
                }),
                ThrowsMessage<SimError>(HasSubstr("run: odd.weights no.npy")));
  }
  weights.clear();
}

TEST(OwnOptions, RejectsAFileThatIsNotThereThoughNobodyReadsIt) {
  std::filesystem::remove(kIn);
  EXPECT_THAT(([] {
                RunCommandLine({"run", "--workload", "paths"});
              }),
              ThrowsMessage<SimError>(HasSubstr("run: --in " + kIn + ": cannot be read")));
  EXPECT_EQ(runs, 0);
}

TEST(OwnOptions, RejectsAFieldThatIsNull) {
  ExpectRefused({"--a", "", static_cast<int*>(nullptr)}, "--a: null as its field, allowed");
  ExpectRefused({"--a", "", static_cast<bool*>(nullptr)}, "--a: null as its field, allowed");
  ExpectRefused({"--a", "", static_cast<std::string*>(nullptr)}, "--a: null as its field, allowed");
}

TEST(OwnOptions, RejectsAFieldThatHoldsNoPath) {
  for (const auto kind :
       {Option::Kind::kInputFile, Option::Kind::kInputTensor, Option::Kind::kOutputTensor})
    ExpectRefused({"--a", "", &number, kind}, "--a: a field that holds no text, allowed");
}

TEST(OwnOptions, ARepeatedRunWritesNoOutputThatHasAPathOfItsOwn) {
  const std::string report = ::testing::TempDir() + "own_options.json";
  const std::vector<std::string> run = {"run", "--workload", "paths"};
  std::ofstream(kIn) << "x";
  std::vector<std::string> recorded = run;
  recorded.insert(recorded.end(), {"--json", report});
  EXPECT_EQ(RunCommandLine(recorded), 0);
  EXPECT_TRUE(std::filesystem::remove(kOut));
  EXPECT_EQ(RunCommandLine({"rerun", report}), 0);
  EXPECT_FALSE(std::filesystem::exists(kOut));

  std::ofstream(kIn) << "y";
  EXPECT_THAT(([&] {
                RunCommandLine({"rerun", report});
              }),
              ThrowsMessage<SimError>(HasSubstr(kIn + ": changed")));
}

TEST(OwnOptions, TimingLeavesOutAnOutputThatHasAPathOfItsOwn) {
  std::ofstream(kIn) << "x";
  std::filesystem::remove(kOut);
  EXPECT_EQ(RunCommandLine({"run", "--workload", "paths", "--fidelity", "timing"}), 0);
  EXPECT_FALSE(std::filesystem::exists(kOut));
  EXPECT_THAT(([] {
                RunCommandLine({"run", "--workload", "paths", "--fidelity", "timing", "--z", kOut});
              }),
              ThrowsMessage<SimError>(HasSubstr("timing has no tensor data")));
}

TEST(OwnOptions, RejectsAnOutputThatIsNone) {
  const std::string file = ::testing::TempDir() + "own_options.npy";
  EXPECT_THAT(
      [&] {
        RunCommandLine({"run", "--workload", "output", "--z", file});
      },
      ThrowsMessage<SimError>(
          AllOf(HasSubstr("--z: the workload has no output z"), HasSubstr("allowed y"))));
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(runs, 0);
  path.clear();  // the field keeps what the command line gave
  EXPECT_EQ(RunCommandLine({"run", "--workload", "output"}), 0);
}

}  // namespace
}  // namespace bwmm::cli
