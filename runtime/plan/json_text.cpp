#include "runtime/plan/json_text.h"

#include "runtime/base/printable.h"

#include <unordered_set>
#include <vector>

namespace sheaf {

namespace {

/// Leaves nlohmann's parser, whose callback can't stop it otherwise; caught in parse().
struct Refused {
  std::string message;
};

/// What nlohmann calls for each event: it sees a value only once it has been read, a key at once.
template <typename AnyJson>
class Guard {
 public:
  explicit Guard(const JsonLimits& limits) : limits_(limits) {}

  bool operator()(int depth, typename AnyJson::parse_event_t event, AnyJson& parsed) {
    using Event = typename AnyJson::parse_event_t;
    if (event == Event::object_end || event == Event::array_end) {
      if (event == Event::object_end) keys_.pop_back();
      return true;
    }
    if (++values_ > limits_.values) throw Refused{"more than " + std::to_string(limits_.values) + " JSON values"};
    if (depth >= limits_.depth) throw Refused{"JSON nested deeper than " + std::to_string(limits_.depth)};
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::key) {
      const std::string& key = parsed.template get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) throw Refused{"the key " + in_quotes(key) + " appears twice in one object"};
      if (keys_.back().size() > limits_.keys)
        throw Refused{"an object with more than " + std::to_string(limits_.keys) + " keys"};
    }
    return true;
  }

 private:
  const JsonLimits& limits_;
  size_t values_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;  ///< of the objects that are open
};

template <typename AnyJson>
Result<AnyJson> parse(const std::string& file, std::string_view text, const JsonLimits& limits) {
  try {
    return AnyJson::parse(text.begin(), text.end(), Guard<AnyJson>(limits));
  } catch (const Refused& refused) {
    return Error({file, 0, 0}, refused.message);
  } catch (const typename AnyJson::parse_error& error) {
    return Error(place_of_byte(file, text, error.byte), syntax_reason(error.what()));
  } catch (const typename AnyJson::exception& error) {
    return Error({file, 0, 0}, syntax_reason(error.what()));
  }
}

}  // namespace

Location place_of_byte(const std::string& file, std::string_view text, size_t byte) {
  Location at{file, 1, 1};
  // nlohmann counts bytes from 1, and points behind the end where something is missing there.
  for (size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    at.column += 1;
    if (text[i] == '\n') at.line += 1, at.column = 1;
  }
  return at;
}

std::string syntax_reason(std::string what) {
  if (const size_t number = what.find("] "); number != std::string::npos) what.erase(0, number + 2);
  for (const char* start : {"syntax error", "number overflow"})
    if (const size_t at = what.find(start); at != std::string::npos) what.erase(0, at);
  // What was read last may be no text at all.
  if (const size_t last = what.find("; last read: "); last != std::string::npos) {
    const size_t expected = what.rfind("; expected ");
    const bool after = expected != std::string::npos && expected > last;
    what.erase(last, after ? expected - last : std::string::npos);
  }
  return what;
}

Result<nlohmann::ordered_json> parse_ordered_json(const std::string& file, std::string_view text, const JsonLimits& limits) {
  return parse<nlohmann::ordered_json>(file, text, limits);
}

Result<nlohmann::json> parse_sorted_json(const std::string& file, std::string_view text, const JsonLimits& limits) {
  return parse<nlohmann::json>(file, text, limits);
}

}  // namespace sheaf
