#include "frontend/located_json.h"

#include "runtime/plan/json_text.h"

#include <nlohmann/json.hpp>

#include <set>
#include <unordered_map>

namespace sheaf::frontend {
namespace {

/// Follows nlohmann's parser through the text: each of its events belongs to the next token here. The parser has already
/// accepted that token, so this only has to find where tokens begin and end.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  TextPlace next() {
    while (at_ < text_.size() && std::string_view(" \t\r\n,:").find(text_[at_]) != std::string_view::npos) advance();
    TextPlace place{line_, column_};
    begin_ = at_;
    if (at_ >= text_.size()) return place;
    char first = text_[at_];
    advance();
    if (first == '"') {
      while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '\\') advance();
        if (at_ < text_.size()) advance();
      }
      if (at_ < text_.size()) advance();
    } else if (std::string_view("[]{}").find(first) == std::string_view::npos) {
      while (at_ < text_.size() && std::string_view(" \t\r\n,:[]{}\"").find(text_[at_]) == std::string_view::npos) advance();
    }
    return place;
  }

  std::string_view source() const { return text_.substr(begin_, at_ - begin_); }

  /// The place of a byte offset at or after the current token.
  TextPlace place_of(size_t offset) {
    while (at_ < offset && at_ < text_.size()) advance();
    return {line_, column_};
  }

 private:
  void advance() {
    if (text_[at_] == '\n') {
      ++line_;
      column_ = 1;
    } else if (at_ + 1 >= text_.size() || (text_[at_ + 1] & 0xC0) != 0x80) {
      ++column_;  // UTF-8 continuation bytes do not count
    }
    ++at_;
  }

  std::string_view text_;
  size_t at_ = 0, begin_ = 0;
  int line_ = 1, column_ = 1;
};

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, Problems& problems, const ModelFileLimits& limits)
      : tokens_(text), problems_(problems), limits_(limits) {}

  bool null() override { return add(LocatedNode::Kind::null) != nullptr; }
  bool boolean(bool value) override {
    LocatedNode* node = add(LocatedNode::Kind::boolean);
    if (node) node->boolean = value;
    return node;
  }
  bool number_integer(number_integer_t value) override { return add_integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(INT64_MAX)) return add_number(static_cast<double>(value));
    return add_integer(static_cast<int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return add_number(value); }
  bool string(string_t& value) override {
    LocatedNode* node = add(LocatedNode::Kind::string);
    if (node) node->string = std::move(value);
    return node;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(LocatedNode::Kind::object); }
  bool start_array(size_t) override { return open(LocatedNode::Kind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    TextPlace place = tokens_.next();
    Frame& frame = open_.back();
    auto [first, fresh] = frame.keys.emplace(name, place);
    if (!fresh) {
      problems_.add(place, "the key '" + name + "' appears twice in this object",
                    {"the first is at " + problems_.text_of(first->second)});
    }
    frame.node->members.push_back({name, place, {}});
    frame.duplicates |= !fresh;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& exception) override {
    TextPlace place = tokens_.place_of(position > 0 ? position - 1 : 0);
    problems_.add(place, "not valid JSON: " + syntax_reason(exception.what()));
    return false;
  }

  std::optional<LocatedNode> take() { return std::move(root_); }

 private:
  struct Frame {
    LocatedNode* node;
    std::unordered_map<std::string, TextPlace> keys;
    bool duplicates = false;
  };

  // The node that the event belongs to. Parents' vectors grow only at their ends, and only while they are the innermost open
  // node, so pointers to open nodes stay valid.
  LocatedNode* add(LocatedNode::Kind kind) {
    TextPlace place = tokens_.next();
    if (++nodes_ > limits_.nodes) {
      problems_.add(place, "the file has more than " + std::to_string(limits_.nodes) + " values");
      return nullptr;
    }
    LocatedNode* node = nullptr;
    if (open_.empty()) {
      node = &root_.emplace();
    } else if (open_.back().node->kind == LocatedNode::Kind::array) {
      node = &open_.back().node->items.emplace_back();
    } else {
      node = &open_.back().node->members.back().value;
    }
    node->kind = kind;
    node->place = place;
    return node;
  }

  bool add_integer(int64_t value) {
    LocatedNode* node = add(LocatedNode::Kind::integer);
    if (!node) return false;
    node->integer = value;
    node->number = static_cast<double>(value);
    node->string = tokens_.source();
    return true;
  }

  bool add_number(double value) {
    LocatedNode* node = add(LocatedNode::Kind::number);
    if (!node) return false;
    node->number = value;
    node->string = tokens_.source();
    return true;
  }

  bool open(LocatedNode::Kind kind) {
    LocatedNode* node = add(kind);
    if (!node) return false;
    if (open_.size() >= limits_.depth) {
      problems_.add(node->place, "nested more than " + std::to_string(limits_.depth) + " levels deep");
      return false;
    }
    open_.push_back({node, {}});
    return true;
  }

  bool close() {
    tokens_.next();
    if (open_.back().duplicates) {
      std::set<std::string> seen;
      std::erase_if(open_.back().node->members, [&](const LocatedMember& m) { return !seen.insert(m.key).second; });
    }
    open_.pop_back();
    return true;
  }

  Tokens tokens_;
  Problems& problems_;
  const ModelFileLimits& limits_;
  size_t nodes_ = 0;
  std::optional<LocatedNode> root_;
  std::vector<Frame> open_;
};

constexpr size_t longest = 60;  // of a value quoted in a message

// "[0.9, 1.0]", or "a list of 40" if the items do not fit on a line.
std::string describe_list(const LocatedNode& list) {
  if (list.items.empty()) return "an empty list";
  std::string text;
  for (const LocatedNode& item : list.items) {
    bool nested = item.kind == LocatedNode::Kind::array || item.kind == LocatedNode::Kind::object;
    std::string one = item.kind == LocatedNode::Kind::string ? '"' + item.string + '"' : nested ? "…" : describe(item);
    text += (text.empty() ? "[" : ", ") + one;
    if (text.size() > longest) return "a list of " + std::to_string(list.items.size());
  }
  return text + "]";
}

}  // namespace

const LocatedMember* LocatedNode::find(const std::string& key) const {
  for (const LocatedMember& member : members) {
    if (member.key == key) return &member;
  }
  return nullptr;
}

std::optional<LocatedNode> parse_located_json(std::string_view text, Problems& problems, const ModelFileLimits& limits) {
  if (text.size() > limits.bytes) {
    problems.add({1, 1}, "the file is larger than " + std::to_string(limits.bytes) + " bytes, the most that a model file has");
    return std::nullopt;
  }
  Builder builder(text, problems, limits);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return builder.take();
}

std::string describe(const LocatedNode& node) {
  switch (node.kind) {
    case LocatedNode::Kind::null: return "null";
    case LocatedNode::Kind::boolean: return node.boolean ? "true" : "false";
    case LocatedNode::Kind::integer:
    case LocatedNode::Kind::number: return node.string.size() > longest ? "a very long number" : node.string;
    case LocatedNode::Kind::string:
      return node.string.size() > longest ? "a long string" : "the string \"" + node.string + "\"";
    case LocatedNode::Kind::array: return describe_list(node);
    case LocatedNode::Kind::object: return "an object";
  }
  return {};
}

}  // namespace sheaf::frontend
