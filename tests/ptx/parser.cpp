#include "tests/ptx/parser.h"

#include <bit>
#include <cstring>

namespace sheaf::ptx {

int bytes_of_type(std::string_view type) {
  static const std::unordered_map<std::string_view, int> bytes = {
      {"pred", 0},   {"b8", 1},   {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2},
      {"f16", 2},    {"bf16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4}, {"f16x2", 4},
      {"bf16x2", 4}, {"b64", 8},  {"u64", 8}, {"s64", 8}, {"f64", 8}};
  auto found = bytes.find(type);
  return found == bytes.end() ? -1 : found->second;
}

Result<Text> parse_text(std::string_view text, const std::string& name) { return Parser(text, name).parse(); }

void Parser::fail(int line, const std::string& what) {
  if (!failed()) error_.add(what, {text_.name, line, 0});
}

bool Parser::take_if(char c) {
  if (failed() || !at(c)) return false;
  lexer_.take();
  return true;
}

void Parser::expect(char c) {
  if (!take_if(c))
    fail(lexer_.peek().line, std::string("expected '") + c + "', not '" + std::string(lexer_.peek().spelling) + "'");
}

int64_t Parser::integer() {
  const bool negative = take_if('-');
  const Token token = take();
  if (token.kind != Token::integer) fail(token.line, "expected an integer, not '" + std::string(token.spelling) + "'");
  return static_cast<int64_t>(negative ? 0 - token.bits : token.bits);
}

std::string Parser::word(const char* what) {
  const Token token = take();
  if (token.kind != Token::word)
    fail(token.line, std::string("expected ") + what + ", not '" + std::string(token.spelling) + "'");
  return std::string(token.spelling);
}

std::string Parser::directive_here() const {
  return lexer_.peek().kind == Token::directive ? std::string(lexer_.peek().spelling.substr(1)) : std::string();
}

void Parser::skip_to(char stop) {
  while (!failed() && lexer_.peek().kind != Token::end && !at(stop)) take();
  expect(stop);
}

Result<Text> Parser::parse() {
  while (!failed() && lexer_.peek().kind != Token::end) module_directive();
  if (failed()) return error_;
  return std::move(text_);
}

void Parser::module_directive() {
  const Token token = take();
  const std::string directive(token.spelling);
  if (token.kind != Token::directive) return fail(token.line, "expected a directive, not '" + directive + "'");
  if (directive == ".version" || directive == ".address_size") {
    const Token number = take();
    if (directive == ".address_size" && number.bits != 64) fail(token.line, "addresses must have 64 bits");
  } else if (directive == ".target") {
    do take();
    while (take_if(','));
  } else if (directive == ".visible" || directive == ".weak" || directive == ".common") {
  } else if (directive == ".extern") {
    if (directive_here() == "func") fail(token.line, "a function of another module");
  } else if (directive == ".entry" || directive == ".func") {
    function(directive == ".entry");
  } else if (directive == ".global" || directive == ".const" || directive == ".shared") {
    const Space space = directive == ".global" ? Space::global : directive == ".const" ? Space::constant : Space::shared;
    variable(space, true, text_.variables, nullptr);
    if (!failed()) text_.variable_by_name[text_.variables.back().name] = &text_.variables.back();
  } else if (directive == ".file") {
    take();
    take();
    while (take_if(',')) take();
  } else if (directive == ".section") {
    debug_section();
  } else {
    fail(token.line, "directive '" + directive + "' is not known to the emulator");
  }
}

void Parser::debug_section() {
  take();  // its name
  expect('{');
  skip_to('}');
}

void Parser::variable(Space space, bool initialised, std::deque<Variable>& into, std::vector<const Variable*>* made) {
  Variable variable;
  variable.space = space;
  int element = -1;
  while (!failed() && element < 0) {
    const Token token = take();
    if (token.kind != Token::directive) return fail(token.line, "expected a type, not '" + std::string(token.spelling) + "'");
    variable.line = token.line;
    const std::string_view word = token.spelling.substr(1);
    if (word == "align") variable.alignment = static_cast<size_t>(integer());
    else if (word == "attribute") return fail(token.line, "directive '.attribute' is not known to the emulator");
    else if (word == "ptr") {  // of a parameter: what it points to
      if (directive_here() == "global" || directive_here() == "shared" || directive_here() == "const" ||
          directive_here() == "local")
        take();
      if (directive_here() == "align") {
        take();
        integer();
      }
    } else if ((element = bytes_of_type(word)) <= 0) {
      return fail(token.line, "type '" + std::string(token.spelling) + "' of a variable is not known to the emulator");
    }
    // A parameter's type comes before ".ptr".
    if (element > 0 && directive_here() == "ptr") {
      take();
      if (directive_here() != "align" && !directive_here().empty()) take();
      if (directive_here() == "align") {
        take();
        integer();
      }
    }
  }
  variable.name = word("a variable's name");
  variable.bytes = static_cast<size_t>(element);
  while (take_if('[')) {
    variable.bytes *= at(']') ? 0 : static_cast<size_t>(integer());
    expect(']');
  }
  variable.alignment = std::max(variable.alignment, static_cast<size_t>(element));
  if (initialised) {
    if (take_if('=')) initializer(variable, static_cast<size_t>(element));
    expect(';');
  }
  if (failed()) return;
  into.push_back(std::move(variable));
  if (made) made->push_back(&into.back());
}

void Parser::initializer(Variable& variable, size_t element) {
  variable.initial.assign(variable.bytes, 0);
  size_t at_byte = 0;
  auto value = [&] {
    uint64_t bits = 0;
    size_t bytes = element;
    if (lexer_.peek().kind == Token::word) {
      const Token token = take();
      std::string symbol(token.spelling);
      const bool generic = symbol == "generic" && take_if('(');
      if (generic) {
        symbol = word("a variable's name");
        expect(')');
      }
      if (element != 8) fail(token.line, "an address needs 64 bits");
      const int64_t addend = take_if('+') ? integer() : 0;
      variable.relocations.push_back({at_byte, symbol, addend, generic});
    } else {
      const bool negative = take_if('-');
      const Token token = take();
      if (token.kind != Token::integer && token.kind != Token::float32 && token.kind != Token::float64)
        return fail(token.line, "expected a number, not '" + std::string(token.spelling) + "'");
      bits = negative ? 0 - token.bits : token.bits;
      if (token.kind == Token::float32 && element == 8)
        bits = std::bit_cast<uint64_t>(double(std::bit_cast<float>(static_cast<uint32_t>(bits))));
      if (token.kind == Token::float64 && element == 4)
        bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    }
    if (at_byte + bytes > variable.bytes) return fail(variable.line, "more values than the variable has elements");
    std::memcpy(variable.initial.data() + at_byte, &bits, bytes);
    at_byte += bytes;
  };
  if (!take_if('{')) return value();
  while (!failed() && !at('}')) {
    if (at('{')) return fail(lexer_.peek().line, "nested initial values are not known to the emulator");
    value();
    if (!take_if(',')) break;
  }
  expect('}');
}

std::vector<const Variable*> Parser::parameter_list(Function& function) {
  std::vector<const Variable*> list;
  expect('(');
  while (!failed() && !at(')')) {
    const Token token = take();
    if (token.spelling != ".param") fail(token.line, "a parameter that is not in .param is not known to the emulator");
    variable(Space::param, false, function.variables, &list);
    if (!take_if(',')) break;
  }
  expect(')');
  return list;
}

void Parser::function(bool entry) {
  Function function;
  function.entry = entry;
  function.line = lexer_.peek().line;
  if (!entry && at('(')) function.results = parameter_list(function);
  function.name = word("a function's name");
  if (at('(')) function.parameters = parameter_list(function);
  while (!failed() && lexer_.peek().kind == Token::directive) {
    const Token token = take();
    const std::string directive(token.spelling);
    if (directive == ".maxntid" || directive == ".reqntid" || directive == ".minnctapersm" || directive == ".maxnreg" ||
        directive == ".maxnctapersm") {
      std::vector<uint32_t> values;
      do values.push_back(static_cast<uint32_t>(integer()));
      while (take_if(','));
      if (directive == ".maxntid") function.max_threads = values;
      if (directive == ".reqntid") function.required_threads = values;
    } else if (directive == ".pragma") {
      skip_to(';');
    } else if (directive != ".noreturn") {
      fail(token.line, "directive '" + directive + "' is not known to the emulator");
    }
  }
  if (take_if(';')) return;  // declared; its definition follows
  if (failed()) return;
  if (text_.function_by_name.contains(function.name)) return fail(function.line, "'" + function.name + "' appears twice");
  text_.functions.push_back(std::move(function));
  function_ = &text_.functions.back();
  text_.function_by_name[function_->name] = function_;
  body();
}

}  // namespace sheaf::ptx
