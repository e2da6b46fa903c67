// Measurements of implementations on this machine, and the choices made from them: a file of the user's (docs/cpu-choices.md).
#pragma once

#include "runtime/device/choices.h"
#include "runtime/device/device.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace sheaf {

/// What is known about an operation.
struct KnownChoice {
  std::string candidate;                  ///< the chosen one
  std::map<std::string, double> seconds;  ///< by candidate, as measured; empty: time ran out before
  std::string model;                      ///< the cost model's choice
  std::vector<std::string> candidates;    ///< what there was to choose from
  /// Whether it is a choice among `names`: they were all weighed, and the chosen one is one of them.
  bool serves(const std::vector<std::string>& names) const;
};

/// One machine's choices. Several processes may use one file: the first entry for an operation stays.
class ChoiceCache final : public Choices {
 public:
  /// For the machine whose CPU is `cpu`, in `folder`; "": only in memory. A missing file counts as empty; so does an unusable
  /// one, and problem() says why.
  static ChoiceCache open(const DeviceInfo& cpu, const std::string& folder);

  const std::string& file() const { return file_; }
  const std::string& problem() const { return problem_; }

  std::string_view candidate(std::string_view key) const override;
  /// Null: unknown, or known but not a choice among `selection`'s candidates: another build of the same version made it.
  const KnownChoice* find(const Selection& selection) const;
  void put(const std::string& key, KnownChoice known);
  /// Writes what was put beside what others have written meanwhile, which then becomes known here. Where theirs is a choice among the
  /// same candidates, it stays; `replace`: what was put. Errors: the file can't be written, or another process holds it locked for two seconds.
  Result<void> save(bool replace);

 private:
  std::string machine_, folder_, file_, problem_;
  std::map<std::string, KnownChoice, std::less<>> known_;
  std::set<std::string> put_;  ///< keys, since the last save
};

}  // namespace sheaf
