#include "runtime/bind/tune.h"

#include "runtime/base/cache_folder.h"
#include "runtime/bind/candidate_search.h"
#include "runtime/base/sha256.h"

#include <atomic>
#include <cstdio>
#include <set>

namespace sheaf {
namespace {

void warn_of_cache(const std::string& what) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true, std::memory_order_relaxed)) std::fprintf(stderr, "warning: %s\n", what.c_str());
}

bool knows_all(const ChoiceCache& cache, const BoundProgram& program) {
  for (const Instance& instance : program.instances)
    if (const auto* selection = selection_of(instance); selection && !cache.find(*selection)) return false;
  return true;
}

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  return text;
}

/// The measurements, added to the reasons of operations.
void add_reasons(const ChoiceCache& cache, BoundProgram& program) {
  for (Instance& instance : program.instances) {
    const auto* selection = selection_of(instance);
    const KnownChoice* known = selection ? cache.find(*selection) : nullptr;
    if (!known) continue;
    std::string& reason = instance.call()->reason;
    if (known->seconds.empty()) {
      reason +=
          "; kept as it was first chosen on this machine, without comparing measurements (--tune full measures all candidates)";
      continue;
    }
    reason += "; measured on this machine, ";
    for (const auto& [name, seconds] : known->seconds)
      reason += name + " " + milliseconds(seconds) + (name == known->seconds.rbegin()->first ? "" : ", ");
    reason += "; with reorders of its neighbours " + selection->name() + " makes the program the quickest";
  }
}

std::string digest_of(const BoundProgram& program) {
  std::set<std::string> taken;
  for (const Instance& instance : program.instances)
    if (const auto* selection = selection_of(instance)) taken.insert(selection->key + " " + selection->name() + "\n");
  std::string all;
  for (const std::string& one : taken) all += one;
  return sha256(all).substr(0, 12);
}

}  // namespace

Result<TunedBinding> plan_tuned(const BindContext& context, Tune tune) {
  if (tune == Tune::off) {
    SHEAF_ASSIGN(auto planned, plan_binding(context));
    return TunedBinding{std::move(planned), ""};
  }
  if (context.devices.world())
    return Error("implementations are measured by one process; in a world of several, leave out --tune (or give --tune off)");
  ChoiceCache cache = ChoiceCache::open(context.devices.host().info(), cache_folder());
  if (!cache.problem().empty())
    warn_of_cache((cache.file().empty() ? "measurements aren't kept: " : cache.file() + ": not used: ") + cache.problem());
  BindContext tuned = context;
  tuned.choices = &cache;
  SHEAF_ASSIGN(auto planned, plan_binding(tuned));
  if (tune == Tune::full || !knows_all(cache, planned.program)) {
    SHEAF_TRY(choose_candidates(context, tune, planned.program, cache));
    if (auto saved = cache.save(/*replace=*/tune == Tune::full); !saved)
      warn_of_cache("the measurements aren't kept, and will be made again: " + to_string(saved.error()));
    SHEAF_ASSIGN(planned, plan_binding(tuned));
  }
  add_reasons(cache, planned.program);
  std::string digest = digest_of(planned.program);
  return TunedBinding{std::move(planned), std::move(digest)};
}

}  // namespace sheaf
