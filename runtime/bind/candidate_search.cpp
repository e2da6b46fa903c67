#include "runtime/bind/candidate_search.h"

#include "runtime/bind/candidate_times.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <tuple>

namespace sheaf {
namespace {

/// A candidate for each of some operations; the cache decides for the others.
class Assignment final : public Choices {
 public:
  explicit Assignment(const ChoiceCache& cache) : cache_(&cache) {}
  std::string_view candidate(std::string_view key) const override {
    const auto found = taken.find(key);
    return found == taken.end() ? cache_->candidate(key) : std::string_view(found->second);
  }
  std::map<std::string, std::string, std::less<>> taken;

 private:
  const ChoiceCache* cache_;
};

/// An operation to be chosen for.
struct Open {
  std::string key;
  std::vector<Selection::Candidate> candidates;  ///< ordered by the model's seconds
  double model_seconds = 0;                      ///< of all its instances, according to the model
};

class CandidateSearch {
 public:
  CandidateSearch(const BindContext& context, Tune tune, ChoiceCache& cache)
      : context_(context), full_(tune == Tune::full), cache_(cache), times_(context.devices), best_(cache) {}

  Result<void> run(const BoundProgram& first) {
    collect(first);
    SHEAF_TRY(measure_all());
    SHEAF_TRY(choose());
    for (const Open& open : open_) {
      KnownChoice known{best_.taken.at(open.key), {}, open.candidates.front().name, {}};
      for (const auto& candidate : open.candidates) {
        known.candidates.push_back(candidate.name);
        if (const double* seconds = times_.known(open.key, candidate.name)) known.seconds[candidate.name] = *seconds;
      }
      if (known.seconds.size() < 2) known.seconds.clear();  // nothing was compared
      cache_.put(open.key, std::move(known));
    }
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kQuickSeconds = 1, kQuickShareOfMeasuring = 0.8;
  static constexpr double kHopeless = 3;  ///< relative to the least, by the model: not measured in a hurry
  static constexpr double kGain = 0.99;   ///< of the program's time, that justifies another choice

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool over(double share) const { return !full_ && elapsed() > share * kQuickSeconds; }

  void collect(const BoundProgram& program) {
    std::map<std::string, size_t> index;
    for (const Instance& instance : program.instances) {
      const Selection* selection = selection_of(instance);
      if (!selection || (!full_ && cache_.find(*selection))) continue;
      const auto [at, added] = index.emplace(selection->key, open_.size());
      if (added) {
        open_.push_back({selection->key, selection->candidates, 0});
        std::sort(open_.back().candidates.begin(), open_.back().candidates.end(),
                  [](const auto& a, const auto& b) { return std::tie(a.seconds, a.name) < std::tie(b.seconds, b.name); });
      }
      open_[at->second].model_seconds += open_[at->second].candidates.front().seconds;
    }
    std::sort(open_.begin(), open_.end(),
              [](const Open& a, const Open& b) { return std::tie(b.model_seconds, a.key) < std::tie(a.model_seconds, b.key); });
    for (const Open& open : open_) best_.taken[open.key] = open.candidates.front().name;
  }

  Result<BoundProgram> planned(const Assignment& assignment) const {
    BindContext context = context_;
    context.choices = &assignment;
    SHEAF_ASSIGN(auto binding, plan_binding(context));
    return std::move(binding.program);
  }

  /// Makes plans with everybody's first candidate, with everybody's second, …, and measures, for one operation after another
  /// and the most expensive first, what these plans compute it with, in turns.
  Result<void> measure_all() {
    size_t rounds = 0;
    for (const Open& open : open_) rounds = std::max(rounds, open.candidates.size());
    std::vector<BoundProgram> programs;
    for (size_t round = 0; round < rounds && !over(kQuickShareOfMeasuring); ++round) {
      Assignment assignment(cache_);
      for (const Open& open : open_) {
        const auto& candidate = open.candidates[std::min(round, open.candidates.size() - 1)];
        const bool hopeless = !full_ && candidate.seconds > kHopeless * open.candidates.front().seconds;
        assignment.taken[open.key] = hopeless ? open.candidates.front().name : candidate.name;
      }
      SHEAF_ASSIGN(auto program, planned(assignment));
      programs.push_back(std::move(program));
    }
    std::map<std::string, std::map<std::string, Planned>> by_key;  // and by candidate
    std::map<std::string, LaneId> lanes;                           // an operation runs on the lane that it was prepared for
    for (const BoundProgram& program : programs)
      for (const Instance& instance : program.instances)
        if (const Selection* selection = selection_of(instance))
          if (lanes.emplace(selection->key, instance.lane).first->second == instance.lane)
            by_key[selection->key].emplace(selection->name(), Planned{&program, &instance});
    for (const Open& open : open_) {
      if (over(kQuickShareOfMeasuring)) break;
      std::vector<Planned> abreast;
      for (const auto& [candidate, planned] : by_key[open.key])
        if (measurable(*planned.instance)) abreast.push_back(planned);
      SHEAF_TRY(measure(abreast));
    }
    return {};
  }

  /// Excludes operations on a device that is absent, or another process's.
  bool measurable(const Instance& instance) const {
    const Device& device = context_.devices.device(instance.lane);
    return device.info().planned.empty() && !elsewhere(device) && instance.call()->executable;
  }

  Result<void> measure(std::span<const Planned> abreast) {
    return times_.measure(abreast, full_ ? 5 : 2, [this] { return over(kQuickShareOfMeasuring); });
  }

  /// For all operations to be chosen for, and all reorders. Unmeasured times are the model's, scaled to the measured ones.
  Result<double> seconds_of(const BoundProgram& program) {
    constexpr double kBytesPerSecond = 20e9;
    double sum = 0;
    for (const Instance& instance : program.instances) {
      if (const Selection* selection = selection_of(instance)) {
        const double* known = times_.known(program, instance);
        sum += known ? *known : unmeasured(*selection);
      } else if (instance.is<Instance::Reorder>()) {
        const double* known = times_.known(program, instance);
        if (!known && !over(1) && measurable(instance)) {
          const Planned reorder{&program, &instance};
          SHEAF_TRY(measure({&reorder, 1}));
          known = times_.known(program, instance);
        }
        sum += known ? *known : 2 * double(program.tensors[instance.inputs[0]].spec.bytes) / kBytesPerSecond;
      }
    }
    return sum;
  }

  double unmeasured(const Selection& selection) const {
    for (const auto& candidate : selection.candidates)
      if (const double* known = times_.known(selection.key, candidate.name); known && candidate.seconds > 0)
        return *known / candidate.seconds * selection.candidates[selection.taken].seconds;
    return selection.candidates[selection.taken].seconds;
  }

  bool measured(const Open& open, const std::string& candidate) const { return times_.known(open.key, candidate); }

  /// The fastest by itself; `preferred` if that was measured.
  Assignment fastest(const std::string& preferred) const {
    Assignment assignment = best_;
    for (const Open& open : open_) {
      const double* least = nullptr;
      for (const auto& candidate : open.candidates) {
        const double* seconds = times_.known(open.key, candidate.name);
        if (!seconds || (least && *seconds >= *least && candidate.name != preferred)) continue;
        least = seconds;
        assignment.taken[open.key] = candidate.name;
        if (candidate.name == preferred) break;
      }
    }
    return assignment;
  }

  /// By the sum: first the model's choice, everybody's fastest, and everybody's of one kind; then one operation after another.
  Result<void> choose() {
    SHEAF_ASSIGN(const auto model, planned(best_));
    SHEAF_ASSIGN(best_seconds_, seconds_of(model));
    considered_.insert(signature(best_));
    std::set<std::string> kinds = {""};
    for (const Open& open : open_)
      for (const auto& candidate : open.candidates) kinds.insert(candidate.name);
    for (const std::string& kind : kinds) {
      if (over(1) && !kind.empty()) return {};  // everybody's fastest is worth a look even so
      SHEAF_TRY(consider(fastest(kind)));
    }
    for (int sweep = 0; sweep < (full_ ? 3 : 1); ++sweep) {
      const double before = best_seconds_;
      for (const Open& open : open_) {
        for (const auto& candidate : open.candidates) {
          if (over(1)) return {};
          if (!measured(open, candidate.name) || candidate.name == best_.taken[open.key]) continue;
          if (*times_.known(open.key, candidate.name) > kHopeless / 2 * time_of_best(open)) continue;
          Assignment other = best_;
          other.taken[open.key] = candidate.name;
          SHEAF_TRY(consider(other));
        }
      }
      if (best_seconds_ > kGain * before) break;
    }
    return {};
  }

  double time_of_best(const Open& open) const {
    const double* seconds = times_.known(open.key, best_.taken.at(open.key));
    return seconds ? *seconds : 1e30;
  }

  /// A character for each operation's candidate.
  std::string signature(const Assignment& assignment) const {
    std::string text;
    for (const Open& open : open_) {
      const std::string& taken = assignment.taken.at(open.key);
      const auto at = std::find_if(open.candidates.begin(), open.candidates.end(),
                                   [&](const auto& candidate) { return candidate.name == taken; });
      text += static_cast<char>(at - open.candidates.begin());
    }
    return text;
  }

  /// Takes it if the program is faster with it; it is planned only once, since that takes time too.
  Result<void> consider(const Assignment& assignment) {
    if (!considered_.insert(signature(assignment)).second) return {};
    SHEAF_ASSIGN(const auto program, planned(assignment));
    SHEAF_ASSIGN(const double seconds, seconds_of(program));
    if (seconds > best_seconds_ * (1 - (1 - kGain) / double(std::max<size_t>(1, open_.size())))) return {};
    best_ = assignment;
    best_seconds_ = seconds;
    return {};
  }

  const BindContext& context_;
  bool full_;
  ChoiceCache& cache_;
  CandidateTimes times_;
  std::vector<Open> open_;
  Assignment best_;
  std::set<std::string> considered_;  ///< their signatures
  double best_seconds_ = 0;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

Result<void> choose_candidates(const BindContext& context, Tune tune, const BoundProgram& first, ChoiceCache& cache) {
  return CandidateSearch(context, tune, cache).run(first);
}

}  // namespace sheaf
