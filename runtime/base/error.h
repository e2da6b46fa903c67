// Errors as values: what every fallible sheaf function returns instead of throwing or aborting.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sheaf {

/// A position in a text file. Lines and columns count from 1; 0 means "unknown".
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
};

enum class Severity { error, warning, note };

/// One message with its place. `layer` and `device` are empty if they do not apply.
struct Diagnostic {
  Severity severity = Severity::error;
  Location location;
  std::string message;      ///< what is wrong and what was expected
  std::string source_line;  ///< the line of the file, shown with a caret; may be empty
  std::vector<std::string> notes;
};

/// A failure: at least one diagnostic, the first of them the cause.
struct Error {
  std::vector<Diagnostic> diagnostics;

  Error() = default;
  explicit Error(std::string message) { add(std::move(message)); }
  Error(Location location, std::string message) { add(std::move(message), std::move(location)); }

  Error& add(std::string message, Location location = {}) {
    diagnostics.push_back({Severity::error, std::move(location), std::move(message), {}, {}});
    return *this;
  }
  Error& note(std::string text) {
    diagnostics.back().notes.push_back(std::move(text));
    return *this;
  }
  const std::string& message() const { return diagnostics.front().message; }
};

struct Palette;

/// `FILE:LINE:COL: error: …`, the source line with a caret, then notes; one diagnostic after another.
std::string to_string(const Diagnostic& diagnostic);
std::string to_string(const Error& error);
/// The same in the colours of a terminal (runtime/base/terminal.h).
std::string to_string(const Diagnostic& diagnostic, const Palette& palette);
std::string to_string(const Error& error, const Palette& palette);

/// Either a value or an Error. Test with `if (!result)`, then read `error()` or `*result`.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  explicit operator bool() const { return ok_; }
  Error& error() { return error_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace sheaf

#define SHEAF_JOIN_TOKENS(a, b) a##b
#define SHEAF_UNIQUE_NAME(stem, line) SHEAF_JOIN_TOKENS(stem, line)

/// Evaluates an expression of type Result<…> and returns its error, if it holds one, from the calling function.
#define SHEAF_TRY(...) \
  if (auto sheaf_result = (__VA_ARGS__); !sheaf_result) return std::move(sheaf_result.error())

/// The same for an expression with a value, which initialises `declaration`: `SHEAF_ASSIGN(auto plan, read_plan(path));`.
#define SHEAF_ASSIGN(declaration, ...)                                                                                   \
  auto SHEAF_UNIQUE_NAME(sheaf_result_, __LINE__) = (__VA_ARGS__);                                                       \
  if (!SHEAF_UNIQUE_NAME(sheaf_result_, __LINE__)) return std::move(SHEAF_UNIQUE_NAME(sheaf_result_, __LINE__).error()); \
  declaration = *std::move(SHEAF_UNIQUE_NAME(sheaf_result_, __LINE__))
