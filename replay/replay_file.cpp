#include "replay/replay_file.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "host/file_io.h"
#include "model/isa/parse.h"
#include "model/isa/text.h"
#include "model/support/setting.h"
#include "model/support/sim_error.h"
#include "model/system/machine_config.h"

namespace bwmm::replay {
namespace {

using isa::LineReader;

constexpr std::string_view kFirstLine = "bwmm replay 1";
constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 32;
constexpr std::array<std::string_view, 4> kContents = {"seed", "edges", "hex", "unwritten"};

std::string Hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::string ToText(const ReplayTensor& tensor) {
  std::string shape;
  for (const std::int64_t size : tensor.shape)
    shape.append(shape.empty() ? "" : ",").append(std::to_string(size));
  std::string text =
      fmt::format("tensor {} {} [{}] at {:#x} {}", tensor.name, NameOf(tensor.dtype), shape,
                  tensor.address, kContents[static_cast<int>(tensor.contents)]);
  if (tensor.contents == Contents::kBytes)
    text += fmt::format(" {}", Hex(tensor.bytes));
  else if (tensor.contents != Contents::kUnwritten)
    text += fmt::format(" {}", tensor.seed);
  return text;
}

class Parser {
 public:
  ReplayProgram Take() { return std::move(program_); }

  void Line(std::string_view line) {
    LineReader r(line);
    r.SkipSpaces();
    if (r.AtEnd() || r.Sees("#"))
      return;
    if (r.Take("machine "))
      Machine(r);
    else if (r.Take("set "))
      Set(r);
    else if (r.Take("tensor "))
      Tensor(r);
    else if (r.Take("when "))
      When(r);
    else if (r.Take("always "))
      when_[Core(r)].reset();
    else if (r.Sees("0") || (line[r.column()] >= '1' && line[r.column()] <= '9'))
      return Step(line);
    else
      r.Fail("machine, set, tensor, when, always, # or an instruction, which begins with its id");
    r.ExpectEnd();
  }

 private:
  static int Core(LineReader& r) {
    r.Expect("core");
    return static_cast<int>(r.Integer(0, kMostCores - 1));
  }

  void Machine(LineReader& r) {
    if (machine_named_)
      r.Fail("one machine line");
    machine_named_ = true;
    program_.machine = r.Token();
    if (program_.machine.empty())
      r.Fail("a machine preset or file");
  }

  void Set(LineReader& r) {
    const std::size_t at = r.column();
    const KeyValue setting = SplitKeyValue(std::string(r.Token()));
    if (!setting.key.starts_with("machine."))
      r.FailAt(at, "machine.key=value");
    program_.settings.emplace_back(setting.key, setting.value);
  }

  void Tensor(LineReader& r) {
    ReplayTensor tensor;
    const std::size_t name_at = r.column();
    tensor.name = r.Word();
    if (tensor.name.empty())
      r.Fail("a tensor's name");
    if (!names_.insert(tensor.name).second)
      r.FailAt(name_at, "a name no tensor has yet");
    r.Expect(" ");
    tensor.dtype = isa::ParseDTypeName(r);
    r.Expect(" [");
    std::int64_t left = kMaxTensorBytes / SizeOf(tensor.dtype);
    do {
      const std::int64_t size = r.Integer(1, left);
      tensor.shape.push_back(size);
      left /= size;
    } while (r.Take(","));
    r.Expect("] at ");
    tensor.address = static_cast<std::uint64_t>(r.Integer(0, INT64_MAX));
    r.Expect(" ");
    tensor.contents = static_cast<Contents>(r.OneOf(kContents));
    if (tensor.contents == Contents::kBytes) {
      r.Expect(" ");
      Bytes(r, tensor);
    } else if (tensor.contents != Contents::kUnwritten) {
      r.Expect(" ");
      tensor.seed = static_cast<std::uint64_t>(r.Integer(0, INT64_MAX));
    }
    program_.tensors.push_back(std::move(tensor));
  }

  static void Bytes(LineReader& r, ReplayTensor& tensor) {
    const std::size_t at = r.column();
    const std::string_view digits = r.Token();
    if (digits.size() != 2 * tensor.size_bytes())
      r.FailAt(at, fmt::format("{} hexadecimal digits, here are {}", 2 * tensor.size_bytes(),
                               digits.size()));
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      int byte = 0;
      for (const char digit : digits.substr(i, 2)) {
        const auto value = std::string_view("0123456789abcdef").find(digit);
        if (value == std::string_view::npos)
          r.FailAt(at + i, "hexadecimal digits");
        byte = byte * 16 + static_cast<int>(value);
      }
      tensor.bytes.push_back(static_cast<std::byte>(byte));
    }
  }

  void When(LineReader& r) {
    const int core = Core(r);
    r.Expect(" ");
    const std::size_t at = r.column();
    const auto load = static_cast<std::uint32_t>(r.Integer(0, UINT32_MAX));
    if (!loads_[core].contains(load))
      r.FailAt(at, fmt::format("the id of an earlier register_load of core {}", core));
    r.Expect(" > ");
    when_[core] = {load, static_cast<std::int32_t>(r.Integer(INT32_MIN, INT32_MAX))};
  }

  void Step(std::string_view line) {
    isa::Instruction instruction = isa::ParseInstruction(line);
    const int core = instruction.core;
    if (core >= kMostCores)
      throw SimError("core{}, allowed core0 to core{}", core, kMostCores - 1);
    if (core >= std::ssize(program_.cores))
      program_.cores.resize(core + 1);
    auto& steps = program_.cores[core];
    if (!steps.empty() && instruction.id <= steps.back().instruction.id)
      throw SimError("instruction {} on core {}, allowed an id above {}", instruction.id, core,
                     steps.back().instruction.id);
    if (std::holds_alternative<isa::RegisterLoad>(instruction.body))
      loads_[core].insert(instruction.id);
    steps.push_back({std::move(instruction), when_[core]});
  }

  ReplayProgram program_;
  bool machine_named_ = false;
  std::set<std::string> names_;
  std::array<std::set<std::uint32_t>, kMostCores> loads_;
  std::array<std::optional<RegisterCondition>, kMostCores> when_;
};

}  // namespace

std::string ToText(const ReplayProgram& program) {
  std::string text = fmt::format("{}\nmachine {}\n", kFirstLine, program.machine);
  for (const auto& [key, value] : program.settings)
    text += fmt::format("set {}={}\n", key, value);
  for (const ReplayTensor& tensor : program.tensors)
    text += fmt::format("{}\n", ToText(tensor));
  for (std::size_t core = 0; core < program.cores.size(); ++core) {
    std::optional<RegisterCondition> when;
    for (const ReplayStep& step : program.cores[core]) {
      if (step.when && step.when != when)
        text += fmt::format("when core{} {} > {}\n", core, step.when->load, step.when->value);
      else if (!step.when && when)
        text += fmt::format("always core{}\n", core);
      when = step.when;
      text += fmt::format("{}\n", isa::ToText(step.instruction));
    }
  }
  return text;
}

ReplayProgram ParseReplay(std::string_view text, const std::string& file) {
  Parser parser;
  int number = 0;
  while (!text.empty() || number == 0) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (number == 1) {
      if (line != kFirstLine)
        throw SimError(
            "{}:1: no replay file, allowed one that begins \"{}\" and has the tensors; a listing "
            "has none",
            file, kFirstLine);
      continue;
    }
    try {
      parser.Line(line);
    } catch (const SimError& error) {
      throw SimError("{}:{}: {}", file, number, error.what());
    }
  }
  return parser.Take();
}

ReplayProgram LoadReplay(const std::string& path) {
  const std::vector<std::byte> bytes = host::ReadFile(path);
  return ParseReplay(host::TextOf(bytes), path);
}

}  // namespace bwmm::replay
