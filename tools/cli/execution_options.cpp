#include "tools/cli/execution_options.h"

#include "runtime/base/joined.h"
#include "runtime/data/source.h"
#include "runtime/device/shards.h"
#include "runtime/session/open_devices.h"

#include <algorithm>
#include <charconv>

namespace sheaf {
namespace {

constexpr double kLongestWait = 1e9;  // seconds, some thirty years

Result<double> deadline_of(const std::string& text) {
  double seconds = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (code == std::errc() && end == text.data() + text.size() && seconds > 0 && seconds <= kLongestWait) return seconds;
  return Error("--deadline: '" + text + "' is not a number of seconds above 0, at most 1e9");
}

/// The names of a list.
std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  for (size_t begin = 0, end; begin < list.size(); begin = end + 1) {
    end = std::min(list.find(',', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
  }
  return names;
}

ByteNumbers numbers_up_to_one() {
  ByteNumbers numbers(256);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) / 255.0F;
  return numbers;
}

}  // namespace

void devices_option(OptionParser& parser) {
  parser.option("--devices", "LIST", "devices: cpu:0,cpu:1 or cuda:0-3; plain cpu: everything on the host, unpartitioned");
}

void device_model_option(OptionParser& parser) {
  parser.option(
      "--device-model", "NAME",
      "plan the list's GPUs as this model, by its data sheet, even if they are absent: h200, h100, b200, a100, l4, rtx4090");
}

Result<std::string> device_model_of(const Options& options) {
  const std::string& model = options.value("--device-model");
  const std::vector<std::string> known = device_models();
  if (!options.has("--device-model") || std::find(known.begin(), known.end(), model) != known.end()) return model;
  return Error("--device-model: '" + model + "' is none of " +
               (known.empty() ? "the devices, of which none is described" : joined(known)));
}

void shards_option(OptionParser& parser) {
  parser.option("--shards", "S",
                "cut the batch into S shards whatever the devices: every list gives the same bits (docs/strategies.md)");
}

Result<int> shards_of(const Options& options) {
  SHEAF_ASSIGN(const auto shards, options.integer("--shards", 1, kMostShards, 0));
  return static_cast<int>(shards);
}

void weights_option(OptionParser& parser) {
  parser.option("--weights", "FILE", "parameters and buffers, a safetensors file; without it they are drawn from --seed")
      .file(FileUse::input);
}

void seed_option(OptionParser& parser) {
  parser.option("--seed", "S",
                "seed of everything random: initial weights, random rows, the order of rows, dropout (default 0)");
}

void numerics_option(OptionParser& parser) {
  parser.option("--numerics", "KIND", "arithmetic; fast allows Winograd convolutions and split f32 on CPUs, TF32 on GPUs")
      .choices({"strict", "fast"});
}

void tune_option(OptionParser& parser) {
  parser
      .option("--tune", "KIND",
              "measure the implementations of operations, on GPUs cuDNN's engines, and use the fastest, which may round "
              "differently: quick (within a second) or full; choices are kept (docs/cpu-choices.md)")
      .choices({"off", "quick", "full"});
}

void length_option(OptionParser& parser) {
  parser
      .option(
          "--length", "NAME=N",
          "the number for a length, a size that the model file leaves open besides the batch (docs/lengths.md); where data has "
          "a shape, it says so itself")
      .repeatable();
}

void deterministic_option(OptionParser& parser) {
  parser.flag("--no-deterministic",
              "on GPUs, allow sums whose order depends on timing, so that runs differ in rounding; `sheaf explain` shows what "
              "it gains");
}

void bytes_option(OptionParser& parser) {
  parser.option(
      "--bytes", "NAME[,NAME]",
      "inputs whose data are bytes, as pictures' are: on GPUs they cross the bus as such; `sheaf train`, `eval` and `run` see "
      "for themselves what are bytes");
}

void deadline_option(OptionParser& parser) {
  parser.option("--deadline", "SECONDS",
                "give up when a GPU has done nothing for this long, and report what ran last (default 300)");
}

void execution_options(OptionParser& parser) {
  parser.group("On GPUs")
      .flag("--no-graphs", "launch each operation separately instead of replaying CUDA graphs: the same bits")
      .add(deterministic_option)
      .add(deadline_option);
}

Result<BindOptions> bind_options(const Options& options) {
  BindOptions bind;
  bind.fast_numerics = options.value("--numerics") == "fast";
  const std::string& tune = options.value("--tune");
  bind.tune = tune == "quick" ? Tune::quick : tune == "full" ? Tune::full : Tune::off;
  bind.graphs = !options.has("--no-graphs");
  SHEAF_ASSIGN(bind.shards, shards_of(options));
  bind.deterministic = !options.has("--no-deterministic");
  for (const std::string& name : names_in(options.value("--bytes"))) bind.bytes[name] = numbers_up_to_one();
  if (options.has("--deadline")) {
    SHEAF_ASSIGN(bind.deadline_seconds, deadline_of(options.value("--deadline")));
  }
  return bind;
}

Result<LengthNumbers> lengths_of_options(const Options& options) {
  LengthNumbers numbers;
  for (const std::string& text : options.values("--length")) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return Error("--length '" + text + "': expected NAME=N");
    const std::string name = text.substr(0, equals);
    SHEAF_ASSIGN(const auto number, parse_integer(text.substr(equals + 1), "--length " + name, 1, int64_t{1} << 40));
    if (!numbers.emplace(name, number).second) return Error("--length: '" + name + "' is given twice");
  }
  return numbers;
}

namespace {

/// Adds the lengths in the shapes of the data that `program`'s inputs and targets get.
Result<void> add_data(const Program& program, const std::vector<Length>& lengths,
                      const std::map<std::string, std::string>& sources, GivenLengths& given) {
  for (const Value& value : program.values) {
    const auto source = sources.find(value.name);
    if (source == sources.end() || (value.role != Value::input && value.role != Value::target)) continue;
    const bool open = std::ranges::any_of(value.shape, [&](const Extent& size) {
      return std::ranges::any_of(lengths, [&](const Length& length) { return size == Extent::symbol(length.name); });
    });
    if (!open) continue;
    SHEAF_ASSIGN(const auto shape, stored_shape(source->second));
    if (!shape) continue;
    if (shape->size() != value.shape.size())
      return Error(source->second + ": '" + value.name + "' has " + std::to_string(value.shape.size()) +
                   " dimensions, the data has " + std::to_string(shape->size()));
    SHEAF_TRY(given.add(lengths, value.shape, *shape, "the data of '" + value.name + "'"));
  }
  return {};
}

}  // namespace

Result<LengthNumbers> numbers_for(const Plan& plan, const LengthNumbers& numbers,
                                  const std::map<std::string, std::string>& sources) {
  const std::vector<Length> lengths = lengths_of(plan);
  GivenLengths given;
  for (const auto& [length, number] : numbers) SHEAF_TRY(given.add(length, number, "--length"));
  for (const Program* program : {&plan.infer, &plan.train}) SHEAF_TRY(add_data(*program, lengths, sources, given));
  const LengthNumbers found = given.numbers();
  if (auto fit = check_lengths(plan, found); !fit) {
    for (const Length& length : lengths)
      if (!found.contains(length.name)) return fit.error().note("--length " + length.name + "=N gives it one");
    return fit.error();
  }
  return found;
}

Result<Plan> sized(Plan plan, const LengthNumbers& numbers, const std::map<std::string, std::string>& sources) {
  if (lengths_of(plan).empty() && numbers.empty()) return plan;
  SHEAF_ASSIGN(const auto found, numbers_for(plan, numbers, sources));
  return with_lengths(std::move(plan), found);
}

}  // namespace sheaf
