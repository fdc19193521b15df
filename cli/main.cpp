// bwmm: the command line. The only place that parses options, prints errors and decides the exit
// code: 0 fine, 1 a check failed, 2 wrong input or program, 128 + n ended by signal n.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "cli/layer_command.h"
#include "cli/list_command.h"
#include "cli/replay_command.h"
#include "cli/rerun_command.h"
#include "cli/tensor_command.h"
#include "cli/version.h"
#include "model/support/interrupt.h"
#include "model/support/printable.h"
#include "model/support/process.h"
#include "model/support/sim_error.h"
#include "model/support/write_file.h"

namespace {

using namespace bwmm;

// CLI11 reads -1 as 2^64 - 1, nothing as 0, and takes octal, signs and spaces as they come.
template <typename T>
CLI::Validator Integer(T least) {
  const auto check = [least](const std::string& text) {
    T value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && stop == end && value >= least
               ? std::string()
               : fmt::format("{}, allowed an integer from {} to {}", text, least,
                             std::numeric_limits<T>::max());
  };
  return CLI::Validator(check, "");
}

// What a subcommand refuses itself, by its own limits.
constexpr int kAnyInt = std::numeric_limits<int>::min();

// An empty value would be taken for an option that is not there: --routing "$UNSET".
void CheckValues(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (std::ranges::find(option->results(), "") != option->results().end())
      throw SimError("{}: empty, allowed a value, or no such option", option->get_name());
  }
}

void AddCommon(CLI::App& command, cli::CommonOptions& options) {
  command.add_option("--fidelity", options.fidelity, "rtl, fast or timing")->capture_default_str();
  command.add_option("--machine", options.machine, "a preset or a TOML file")
      ->capture_default_str();
  command.add_option("--set", options.settings, "key=value, may be repeated")
      ->allow_extra_args(false);
  command.add_option("--json", options.json, "write the report to this file");
  command.add_option("--listing", options.listing, "write one line per instruction to this file");
  command.add_option("--wave", options.wave, "write an FST dump to this file (rtl)");
  command.add_option("--probe", options.probe, "PE row,column shown in the dump")
      ->capture_default_str();
  command.add_option("--wave-window", options.wave_window, "from:to in TensorEngine cycles");
  command.add_flag("--unchecked", options.unchecked,
                   "do not look for races and for reads of unwritten bytes");
  command.add_option("--seed", options.seed, "seed of everything random")
      ->capture_default_str()
      ->check(Integer<std::uint64_t>(0));
}

// One line whatever a path or a value holds.
void PrintError(const std::string& text) {
  std::fputs(fmt::format("bwmm: {}\n", Printable(text)).c_str(), stderr);
}

// With `captured_json` a run's JSON report goes there, and nothing is printed.
int Run(int argc, const char* const* argv, std::string* captured_json = nullptr) {
  CLI::App cli{"bwmm: a two-core MX accelerator running Mixture-of-Experts prefill kernels"};
  cli.set_version_flag("--version", std::string(cli::Version()));
  cli.require_subcommand(1);
  // What the chosen subcommand does; false when a check failed.
  std::function<bool()> action;

  cli::LayerCommand layer;
  CLI::App* run = cli.add_subcommand("run", "one MoE layer");
  AddCommon(*run, layer.common);
  run->add_option("--model", layer.model, "a model preset (bwmm list models)");
  run->add_option("--config", layer.config, "a TOML file with the same keys as a preset");
  run->add_option("--variant", layer.variant,
                  "name or number (bwmm list variants); default: shard_on_i_mx, or the first that "
                  "fits the model");
  run->add_option("--tokens", layer.tokens, "tokens of the layer")
      ->capture_default_str()
      ->check(Integer(1));
  run->add_option("--block-size", layer.block_size, "rows of a block")
      ->capture_default_str()
      ->check(Integer(1));
  run->add_option("--routing", layer.routing, "CSV file: token,slot,expert,weight");
  run->add_option("--check", layer.check, "double-precision reference: auto, on, worst_case, off")
      ->capture_default_str();
  run->add_option("--output", layer.output, "write the result (.npy, .safetensors)");
  run->add_option("--dump-tile", layer.dump_tile,
                  "core,instruction,directory: write a matmul tile that bwmm matmul replays");
  run->add_flag("--sequential", layer.sequential, "run on the sequential executor, without time");
  run->callback([&] {
    for (const CLI::Option* option : run->parse_order())
      layer.given.insert(option->get_name());
    action = [&] { return cli::RunLayer(layer); };
  });

  cli::MatmulCommand matmul;
  CLI::App* mm = cli.add_subcommand("matmul", "one matmul: out = stationary^T moving");
  AddCommon(*mm, matmul.common);
  mm->add_option("--k", matmul.k, "contraction: passes of 128, MX of 512")
      ->capture_default_str()
      ->check(Integer(kAnyInt));
  mm->add_option("--m", matmul.m, "stationary columns, up to 128")
      ->capture_default_str()
      ->check(Integer(kAnyInt));
  mm->add_option("--n", matmul.n, "moving columns, up to 4096")
      ->capture_default_str()
      ->check(Integer(kAnyInt));
  mm->add_option("--dtype", matmul.dtype, "type of both operands; floats are quantised to x4 types")
      ->capture_default_str();
  mm->add_option("--stationary-dtype", matmul.stationary_dtype, "type of the stationary operand");
  mm->add_option("--moving-dtype", matmul.moving_dtype, "type of the moving operand");
  mm->add_option("--psum-dtype", matmul.psum_dtype, "float32 or bfloat16")->capture_default_str();
  mm->add_option("--stationary", matmul.stationary,
                 "FILE[#TENSOR][:TYPE]: [K, M], or x4 words [K/4, M]; seeded without");
  mm->add_option("--moving", matmul.moving, "[K, N], or x4 words [K/4, N]; seeded without");
  mm->add_option("--stationary-scales", matmul.stationary_scales, "[K/32, M] of x4 words");
  mm->add_option("--moving-scales", matmul.moving_scales, "[K/32, N] of x4 words");
  mm->add_option("--output", matmul.output, "write [M, N] in PSUM's type");
  mm->callback([&] { action = [&] { return cli::RunMatmul(matmul); }; });

  cli::QuantizeCommand quantize;
  CLI::App* q = cli.add_subcommand("quantize", "one quantize_mx");
  AddCommon(*q, quantize.common);
  q->add_option("--partitions", quantize.partitions, "32, 64, 96 or 128")
      ->capture_default_str()
      ->check(Integer(kAnyInt));
  q->add_option("--columns", quantize.columns, "source elements per partition")
      ->capture_default_str()
      ->check(Integer(kAnyInt));
  q->add_option("--dtype", quantize.dtype, "bfloat16 or float16")->capture_default_str();
  q->add_option("--target", quantize.target, "float8_e4m3fn_x4 or float8_e5m2_x4")
      ->capture_default_str();
  q->add_option("--rule", quantize.rule, "x2 or ocp")->capture_default_str();
  q->add_option("--input", quantize.input, "FILE[#TENSOR][:TYPE]: [P, F]; seeded without");
  q->add_option("--output", quantize.output, "write the x4 words");
  q->add_option("--scales", quantize.scales, "write the E8M0 scales");
  q->callback([&] { action = [&] { return cli::RunQuantize(quantize); }; });

  cli::ReplayCommand replay;
  CLI::App* rp = cli.add_subcommand("replay", "a program as text, run in every way and compared");
  rp->add_option("file", replay.file, "a replay file")->required();
  rp->add_option("--fidelity", replay.fidelity, "all, executor, fast, timing or rtl")
      ->capture_default_str();
  rp->callback([&] { action = [&] { return cli::RunReplayCommand(replay); }; });

  std::string what;
  CLI::App* list = cli.add_subcommand("list", "models, variants, machines or counters");
  list->add_option("what", what, "models, variants, machines, counters")->required();
  list->callback([&] {
    action = [&] {
      WriteStandardOutput(cli::ListText(what));
      return true;
    };
  });

  std::string report;
  CLI::App* rerun = cli.add_subcommand("rerun", "repeat the run of a JSON report and compare");
  rerun->add_option("report", report, "what --json wrote")->required();
  rerun->callback([&] {
    action = [&] {
      return cli::Rerun(report, [&](const std::vector<std::string>& arguments) {
        std::vector<const char*> words = {argv[0]};
        for (const std::string& argument : arguments)
          words.push_back(argument.c_str());
        std::string json;
        try {
          Run(static_cast<int>(words.size()), words.data(), &json);
        } catch (const SimError& error) {
          throw SimError("{}: {}", report, error.what());
        }
        return json;
      });
    };
  });
  for (cli::CommonOptions* options : {&layer.common, &matmul.common, &quantize.common}) {
    options->arguments.assign(argv + 1, argv + argc);
    options->captured_json = captured_json;
  }

  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (captured_json != nullptr)
      throw SimError("arguments: {}", error.get_exit_code() == 0 ? "no run" : error.what());
    if (error.get_exit_code() == 0)
      return cli.exit(error);  // --help, --version
    PrintError(error.what());
    return 2;
  }
  bool pass = false;
  try {
    CheckValues(*cli.get_subcommands().front());
    pass = action();
  } catch (const SimError& error) {
    throw SimError("{}: {}", cli.get_subcommands().front()->get_name(), error.what());
  }
  if (std::fflush(stdout) != 0)
    throw SimError("standard output: cannot be written: {}", std::strerror(errno));
  return pass ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  PrepareProcess();
  CatchInterrupts();
  try {
    return Run(argc, argv);
  } catch (const Interrupted& error) {
    PrintError(error.what());
    return 128 + error.signal();
  } catch (const SimError& error) {
    PrintError(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    PrintError("host memory: not enough for this run, allowed are smaller models or fewer tokens");
    return 2;
  } catch (const std::exception& error) {
    PrintError(fmt::format("internal error: {}", error.what()));
    return 1;
  }
}
