#include "runtime/training/checkpoint.h"

#include "runtime/plan/json_text.h"
#include "runtime/plan/serialize.h"
#include "runtime/plan/sha256.h"
#include "runtime/training/checkpoint_json.h"

#include <zlib.h>

namespace sheaf {
namespace {

constexpr const char* kContent = "sheaf_checkpoint";
constexpr const char* kSums = "sheaf_checksums";  ///< CRC-32 of the content and of each tensor

uint32_t crc_of(const void* data, size_t bytes) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const unsigned char*>(data), bytes));
}

size_t bytes_of(const TensorView& tensor) {
  size_t bytes = size_of(tensor.dtype);
  for (const int64_t size : tensor.shape) bytes *= static_cast<size_t>(size);
  return bytes;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

Result<nlohmann::json> metadata_json(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) return Error("its metadata has no '" + std::string(key) + "'");
  auto json = parse_sorted_json(file.name(), found->second, {8, 20'000'000, 1'000'000});
  if (!json) return Error("its '" + std::string(key) + "': " + json.error().message());
  return json;
}

}  // namespace

std::string plan_hash(const Plan& plan) { return sha256(serialize(plan)); }

Result<void> write_checkpoint(const Folder& folder, const std::string& name, const Checkpoint& checkpoint,
                              std::span<const TensorView> tensors) {
  const std::string content = json_of(checkpoint).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  nlohmann::json sums = {{"", crc_of(content.data(), content.size())}};
  for (const TensorView& tensor : tensors) {
    const size_t bytes = bytes_of(tensor);
    sums[tensor.name] = bytes > 0 ? crc_of(tensor.data, bytes) : crc_of("", 0);
  }
  return write_safetensors(folder, name, tensors,
                           {{kContent, content}, {kSums, sums.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)}});
}

Result<CheckpointFile> CheckpointFile::open(const Folder& folder, const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    return Error({folder.path_of(name), 0, 0}, "not a sound checkpoint: " + why);
  };
  SHEAF_ASSIGN(auto opened, SafetensorsFile::open(folder, name));
  auto content = metadata_json(opened, kContent);
  if (!content) return refuse(content.error().message());
  auto sums = metadata_json(opened, kSums);
  if (!sums) return refuse(sums.error().message());
  std::map<std::string, uint32_t> by_name;
  if (!sums->is_object()) return refuse("its checksums are not an object");
  for (const auto& [name, sum] : sums->items()) {
    if (!sum.is_number_unsigned() || sum.get<uint64_t>() > UINT32_MAX) return refuse("a checksum is not a 32-bit number");
    by_name[name] = sum.get<uint32_t>();
  }
  const std::string& text = opened.metadata().at(kContent);
  if (!by_name.contains("") || by_name[""] != crc_of(text.data(), text.size()))
    return refuse("its metadata is damaged (CRC-32)");
  auto checkpoint = checkpoint_of(*content);
  if (!checkpoint) return refuse(checkpoint.error().message());
  return CheckpointFile(std::move(opened), std::move(*checkpoint), std::move(by_name));
}

Result<std::vector<HostTensor>> CheckpointFile::read(std::span<const Parameter* const> expected) const {
  std::vector<std::string> problems;
  std::map<std::string, bool> known;
  for (const Parameter* parameter : expected) {
    known[parameter->name] = true;
    const auto found = file_.entries().find(parameter->name);
    if (found == file_.entries().end()) {
      problems.push_back("missing: '" + parameter->name + "'");
    } else if (found->second.shape != parameter->shape) {
      problems.push_back("misshapen: '" + parameter->name + "' is " + shape_text(found->second.shape) + "; expected " +
                         shape_text(parameter->shape));
    }
  }
  for (const auto& [name, entry] : file_.entries()) {
    if (!known.contains(name)) problems.push_back("superfluous: '" + name.substr(0, 200) + "'");
  }
  if (!problems.empty()) {
    Error error({file_.name(), 0, 0}, "its tensors are not those of the plan");
    for (size_t i = 0; i < std::min<size_t>(problems.size(), 20); ++i) error.note(problems[i]);
    return error;
  }
  std::vector<HostTensor> tensors;
  for (const Parameter* parameter : expected) {
    SHEAF_ASSIGN(auto tensor, file_.read(parameter->name));
    if (tensor.dtype != parameter->dtype)
      return Error({file_.name(), 0, 0}, "tensor '" + parameter->name + "' is " + std::string(name_of(tensor.dtype)) +
                                             "; expected " + std::string(name_of(parameter->dtype)));
    const auto sum = sums_.find(parameter->name);
    const uint32_t found = tensor.bytes.empty() ? crc_of("", 0) : crc_of(tensor.bytes.data(), tensor.bytes.size());
    if (sum == sums_.end() || sum->second != found)
      return Error({file_.name(), 0, 0}, "tensor '" + parameter->name + "' is damaged (CRC-32)");
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<void> check_same_run(const std::string& file, const RunIdentity& then, const RunIdentity& now) {
  const auto refuse = [&](const std::string& why) { return Error({file, 0, 0}, "can't be resumed from: " + why); };
  if (then.plan != now.plan) {
    return refuse("it is of another plan (model '" + then.model + "', SHA-256 " + then.plan.substr(0, 12) +
                  "…; this one is of model '" + now.model + "', " + now.plan.substr(0, 12) + "…)")
        .note("train on with the plan file that the run began with; a changed model can start from its weights with --weights");
  }
  const auto differ = [&](const char* what, auto before, auto after) {
    return refuse(std::string("its ") + what + " is " + std::to_string(before) + ", this run's is " + std::to_string(after));
  };
  if (then.batch_size != now.batch_size) return differ("--batch-size", then.batch_size, now.batch_size);
  if (then.micro_batches != now.micro_batches) return differ("--micro-batches", then.micro_batches, now.micro_batches);
  if (then.seed != now.seed) return differ("--seed", then.seed, now.seed);
  if (then.rows != now.rows) return differ("number of rows", then.rows, now.rows);
  if (then.data != now.data)
    return refuse("its rows (--data) had another content than this run's: their CRC-32 sums differ")
        .note("to train on with other data, begin a new run from its weights (--weights)");
  if (then.shuffle != now.shuffle)
    return refuse(then.shuffle ? "its rows were shuffled, this run has --no-shuffle"
                               : "its rows were not shuffled (--no-shuffle), this run's are");
  return {};
}

std::vector<std::string> rounding_differences(const RunIdentity& then, const RunIdentity& now) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* what, const std::string& before, const std::string& after) {
    if (before != after) differences.push_back(std::string(what) + " " + before + " then, " + after + " now");
  };
  compare("devices", list_of(then.devices), list_of(now.devices));
  compare("numerics", then.numerics, now.numerics);
  compare("CPU", then.cpu, now.cpu);
  return differences;
}

}  // namespace sheaf
