#include "runtime/bind/choice_cache.h"

#include "runtime/base/folder_lock.h"
#include "runtime/base/version.h"
#include "runtime/plan/plan.h"
#include "runtime/base/sha256.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>

namespace sheaf {
namespace {

constexpr int kCacheVersion = 2;
constexpr uint64_t kMostFileBytes = uint64_t{64} << 20;
using KnownChoices = std::map<std::string, KnownChoice, std::less<>>;

/// Everything a measurement depends on except the operation.
std::string machine_of(const DeviceInfo& cpu) {
  return name_and_version() + ", " + cpu.library + ", " + cpu.model + ", " + cpu.isa;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<KnownChoices> parse(const std::string& text, const std::string& machine) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Error damaged("it is damaged");
  if (!json.is_object() || !json.contains("version") || json["version"] != kCacheVersion)
    return Error("it is none of this version's");
  if (!json.contains("machine") || json["machine"] != machine) return Error("it is another machine's");
  if (!json.contains("operations") || !json["operations"].is_object()) return damaged;
  KnownChoices known;
  for (const auto& [key, entry] : json["operations"].items()) {
    if (!entry.is_object() || !entry.contains("take") || !entry["take"].is_string() ||
        (entry.contains("model") && !entry["model"].is_string()))
      return damaged;
    KnownChoice choice{entry["take"].get<std::string>(), {}, entry.value("model", ""), {}};
    if (!entry.contains("candidates") || !entry["candidates"].is_array()) return damaged;
    for (const Json& name : entry["candidates"]) {
      if (!name.is_string()) return damaged;
      choice.candidates.push_back(name.get<std::string>());
    }
    if (!contains(choice.candidates, choice.candidate)) return damaged;
    if (entry.contains("seconds")) {
      if (!entry["seconds"].is_object()) return damaged;
      for (const auto& [name, seconds] : entry["seconds"].items()) {
        if (!seconds.is_number() || !std::isfinite(seconds.get<double>()) || seconds.get<double>() < 0) return damaged;
        choice.seconds[name] = seconds.get<double>();
      }
    }
    known[key] = std::move(choice);
  }
  return known;
}

Result<KnownChoices> read(const std::string& file, const std::string& machine) {
  SHEAF_ASSIGN(const auto text, read_file(file, kMostFileBytes));
  return parse(text, machine);
}

std::string text_of(const KnownChoices& known, const std::string& machine) {
  Json operations = Json::object();
  for (const auto& [key, choice] : known) {
    Json& entry = operations[key];
    entry["take"] = choice.candidate;
    entry["model"] = choice.model;
    entry["candidates"] = choice.candidates;
    if (!choice.seconds.empty()) entry["seconds"] = choice.seconds;
  }
  return Json{{"version", kCacheVersion}, {"machine", machine}, {"operations", operations}}.dump(1) + "\n";
}

/// Held while one process reads the file and writes it again: of its folder, since writing replaces the file.
Result<Folder> locked(const std::string& path) {
  using namespace std::chrono_literals;
  SHEAF_ASSIGN(Folder folder, Folder::open(path));
  for (const auto end = std::chrono::steady_clock::now() + 2s; !try_lock(folder);) {
    if (std::chrono::steady_clock::now() > end) return Error({path, 0, 0}, "another process holds it locked");
    std::this_thread::sleep_for(1ms);
  }
  return folder;
}

}  // namespace

bool KnownChoice::serves(const std::vector<std::string>& names) const {
  return contains(names, candidate) &&
         std::all_of(names.begin(), names.end(), [&](const std::string& name) { return contains(candidates, name); });
}

ChoiceCache ChoiceCache::open(const DeviceInfo& cpu, const std::string& folder) {
  ChoiceCache cache;
  cache.machine_ = machine_of(cpu);
  if (folder.empty()) {
    cache.problem_ = "neither SHEAF_CACHE nor XDG_CACHE_HOME nor HOME is set";
    return cache;
  }
  cache.folder_ = folder;
  cache.file_ = folder + "/choices-" + sha256(cache.machine_).substr(0, 16) + ".json";
  std::error_code error;
  if (!std::filesystem::exists(cache.file_, error) && !error) return cache;
  auto known = read(cache.file_, cache.machine_);
  if (known) cache.known_ = std::move(*known);
  else cache.problem_ = known.error().message();
  return cache;
}

const KnownChoice* ChoiceCache::find(const Selection& selection) const {
  const auto found = known_.find(selection.key);
  if (found == known_.end()) return nullptr;
  std::vector<std::string> names;
  for (const auto& candidate : selection.candidates) names.push_back(candidate.name);
  return found->second.serves(names) ? &found->second : nullptr;
}

std::string_view ChoiceCache::candidate(std::string_view key) const {
  const auto known = known_.find(key);
  return known == known_.end() ? std::string_view() : std::string_view(known->second.candidate);
}

void ChoiceCache::put(const std::string& key, KnownChoice known) {
  known_[key] = std::move(known);
  put_.insert(key);
}

Result<void> ChoiceCache::save(bool replace) {
  if (file_.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return Error({folder_, 0, 0}, "can't be made: " + error.message());
  SHEAF_ASSIGN(const Folder lock, locked(folder_));
  if (const auto others = read(file_, machine_)) {
    for (const auto& [key, theirs] : *others) {
      const bool ours = put_.contains(key) && (replace || !theirs.serves(known_.at(key).candidates));
      if (!ours) known_[key] = theirs;
    }
  }
  SHEAF_TRY(write_file_atomically(file_, text_of(known_, machine_)));
  put_.clear();
  return {};
}

}  // namespace sheaf
