#include "tools/inspect/trace_events.h"

#include "runtime/plan/json_text.h"

#include <vector>

namespace sheaf {

namespace {

using Events = nlohmann::json;

constexpr size_t kDeepest = 64;

/// Where element `wanted` of the array of events begins in `text`, which is valid JSON up to there.
Location place_of_event(const std::string& file, std::string_view text, size_t wanted) {
  Location at{file, 1, 0};
  const int events_depth = text[text.find_first_not_of(" \t\r\n")] == '[' ? 1 : 2;
  int depth = 0;
  size_t element = 0;
  bool in_events = false, expects = false;  // `expects`: the next thing is an element
  std::string_view key;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    at.column += 1;
    if (c == '\n') at.line += 1, at.column = 0;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    if (expects && element == wanted) return at;
    expects = false;
    if (c == '"') {
      size_t end = i + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      if (depth == 1) key = text.substr(i + 1, end - i - 1);
      at.column += static_cast<int>(end - i);
      i = end;
    } else if (c == '[' || c == '{') {
      ++depth;
      if (c == '[' && depth == events_depth && (depth == 1 || key == "traceEvents")) in_events = expects = true;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && in_events && depth == events_depth) {
      ++element;
      expects = true;
    }
  }
  return {file, 0, 0};
}

/// The callbacks of nlohmann's parser: builds one event at a time. Returning false ends the parse.
class EventReader : public nlohmann::json_sax<Events> {
 public:
  EventReader(const std::string& file, std::string_view text, const TakeEvent& take) : file_(file), text_(text), take_(take) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool b) override { return value(b); }
  bool number_integer(number_integer_t n) override { return value(n); }
  bool number_unsigned(number_unsigned_t n) override { return value(n); }
  bool number_float(number_float_t n, const string_t&) override { return value(n); }
  bool string(string_t& s) override { return value(std::move(s)); }
  bool binary(binary_t&) override { return false; }  // not in JSON
  bool key(string_t& name) override {
    key_ = std::move(name);
    if (depth_ == 1) is_events_ = key_ == "traceEvents";
    return true;
  }
  bool start_object(size_t) override { return open(Events::object()); }
  bool start_array(size_t) override {
    if ((depth_ == 0 || (depth_ == 1 && is_events_)) && events_depth_ == 0) {
      events_depth_ = ++depth_;
      return true;
    }
    return open(Events::array());
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(size_t byte, const std::string&, const Events::exception& error) override {
    error_ = Error(place_of_byte(file_, text_, byte), syntax_reason(error.what()));
    return false;
  }

  std::optional<Error> error_;
  size_t events_ = 0;        ///< seen so far
  size_t events_depth_ = 0;  ///< nesting of the array's elements; 0: no such array was seen

 private:
  Events* put(Events&& value) {
    Events& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[key_] = std::move(value));
  }

  template <typename T>
  bool value(T&& scalar) {
    if (!open_.empty()) return put(Events(std::forward<T>(scalar))), true;
    if (events_depth_ != 0 && depth_ == events_depth_ && !past_) return finished(Events(std::forward<T>(scalar)));
    return true;
  }

  bool open(Events&& fresh) {
    if (++depth_ > kDeepest) {
      error_ = Error({file_, 0, 0}, "JSON nested deeper than " + std::to_string(kDeepest));
      return false;
    }
    if (!open_.empty()) {
      open_.push_back(put(std::move(fresh)));
    } else if (events_depth_ != 0 && depth_ == events_depth_ + 1 && !past_) {
      event_ = std::move(fresh);
      open_.push_back(&event_);
    }
    return true;
  }

  bool close() {
    --depth_;
    if (open_.empty()) {
      if (events_depth_ != 0 && depth_ + 1 == events_depth_) past_ = true;
      return true;
    }
    open_.pop_back();
    return !open_.empty() || finished(std::move(event_));
  }

  bool finished(Events&& event) {
    const std::optional<std::string> wrong = take_(event);
    if (wrong) error_ = Error(place_of_event(file_, text_, events_), "event " + std::to_string(events_) + ": " + *wrong);
    ++events_;
    return !wrong;
  }

  const std::string& file_;
  std::string_view text_;
  const TakeEvent& take_;
  size_t depth_ = 0;
  bool is_events_ = false;  ///< the outermost object's key is "traceEvents"
  bool past_ = false;       ///< the array of events has been closed
  std::string key_;
  Events event_;
  std::vector<Events*> open_;  ///< from the event to the innermost incomplete value
};

}  // namespace

Result<size_t> for_each_event(const std::string& file, std::string_view text, const TakeEvent& take) {
  EventReader reader(file, text, take);
  const bool read = Events::sax_parse(text.begin(), text.end(), &reader);
  if (reader.error_) return *reader.error_;
  if (!read) return Error({file, 0, 0}, "this JSON can't be read");
  if (reader.events_depth_ == 0)
    return Error({file, 1, 1},
                 "this is no trace: expected an array of events, or an object with one in 'traceEvents' "
                 "(what `sheaf run --trace` writes)");
  return reader.events_;
}

}  // namespace sheaf
