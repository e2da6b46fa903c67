// What was measured of implementations on this machine, and what was chosen by it: a file of the user's (docs/cpu-choices.md).
#pragma once

#include "runtime/device/choices.h"
#include "runtime/device/device.h"

#include <map>
#include <string>

namespace sheaf {

/// What is known of an operation.
struct KnownChoice {
  std::string candidate;                  ///< that is taken
  std::map<std::string, double> seconds;  ///< by candidate, as measured; empty: the time for measuring was over before
  std::string model;                      ///< that the model of costs would take
};

/// One machine's choices. Several processes may use one file: what stands in it first stays.
class ChoiceCache final : public Choices {
 public:
  /// Of the machine whose CPU is `cpu`, in `folder`; "": only in memory. A file that isn't there is empty; one that can't be used
  /// is, too, and problem() says why.
  static ChoiceCache open(const DeviceInfo& cpu, const std::string& folder);
  /// $SHEAF_CACHE, else $XDG_CACHE_HOME/sheaf, else ~/.cache/sheaf; "" where none of them is set.
  static std::string user_folder();

  const std::string& file() const { return file_; }
  const std::string& problem() const { return problem_; }

  std::string_view candidate(std::string_view key) const override;
  /// Null: nothing is known.
  const KnownChoice* find(std::string_view key) const;
  void put(const std::string& key, KnownChoice known) { known_[key] = std::move(known); }
  /// Writes what was put, beside what others have written meanwhile, which is then known here too. `replace`: also over that. Errors:
  /// the file can't be written.
  Result<void> save(bool replace);

 private:
  std::string machine_, folder_, file_, problem_;
  std::map<std::string, KnownChoice, std::less<>> known_;
};

}  // namespace sheaf
