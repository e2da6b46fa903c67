#include "runtime/training/checked_file.h"

#include "runtime/plan/json_text.h"

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

Result<nlohmann::json> metadata_json(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) return Error("its metadata has no '" + std::string(key) + "'");
  auto json = parse_sorted_json(file.name(), found->second, {8, 20'000'000, 1'000'000});
  if (!json) return Error("its '" + std::string(key) + "': " + json.error().message());
  return json;
}

std::string text_of(const nlohmann::json& json) { return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

/// The metadata of a checkpoint.
std::map<std::string, std::string> metadata_of(const nlohmann::json& json, std::span<const TensorView> tensors) {
  const std::string content = text_of(json);
  nlohmann::json sums = {{"", crc_of(content.data(), content.size())}};
  for (const TensorView& tensor : tensors) {
    const size_t bytes = bytes_of(tensor);
    sums[tensor.name] = bytes > 0 ? crc_of(tensor.data, bytes) : crc_of("", 0);
  }
  return {{kContent, content}, {kSums, text_of(sums)}};
}

Error unsound_file(const std::string& file, const std::string& why) {
  return Error({file, 0, 0}, "not a sound checkpoint: " + why);
}

}  // namespace

Result<void> write_checked(const std::string& file, const nlohmann::json& content, std::span<const TensorView> tensors) {
  return write_safetensors(file, tensors, metadata_of(content, tensors));
}

Result<void> write_checked(const Folder& folder, const std::string& name, const nlohmann::json& content,
                           std::span<const TensorView> tensors) {
  return write_safetensors(folder, name, tensors, metadata_of(content, tensors));
}

Result<CheckedFile> CheckedFile::open(const std::string& file) { return open(SafetensorsFile::open(file), file); }

Result<CheckedFile> CheckedFile::open(const Folder& folder, const std::string& name) {
  return open(SafetensorsFile::open(folder, name), folder.path_of(name));
}

Result<CheckedFile> CheckedFile::open(Result<SafetensorsFile> file, const std::string& name) {
  if (!file) return file.error();
  const auto refuse = [&](const std::string& why) { return unsound_file(name, why); };
  auto content = metadata_json(*file, kContent);
  if (!content) return refuse(content.error().message());
  auto sums = metadata_json(*file, kSums);
  if (!sums) return refuse(sums.error().message());
  std::map<std::string, uint32_t> by_name;
  if (!sums->is_object()) return refuse("its checksums are not an object");
  for (const auto& [tensor, sum] : sums->items()) {
    if (!sum.is_number_unsigned() || sum.get<uint64_t>() > UINT32_MAX) return refuse("a checksum is not a 32-bit number");
    by_name[tensor] = sum.get<uint32_t>();
  }
  const std::string& text = file->metadata().at(kContent);
  if (!by_name.contains("") || by_name[""] != crc_of(text.data(), text.size()))
    return refuse("its metadata is damaged (CRC-32)");
  return CheckedFile(std::move(*file), std::move(*content), std::move(by_name));
}

Error CheckedFile::unsound(const std::string& why) const { return unsound_file(file_.name(), why); }

Result<std::vector<HostTensor>> CheckedFile::read(std::span<const Parameter* const> expected) const {
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

}  // namespace sheaf
