#include "tests/ptx/parser.h"

#include <algorithm>

namespace sheaf::ptx {

void Parser::body() {
  scopes_.assign(1, {});
  for (auto* list : {&function_->results, &function_->parameters})
    for (const Variable* variable : *list) scopes_[0].variables[variable->name] = variable;
  expect('{');
  scopes_.emplace_back();
  while (!failed() && scopes_.size() > 1) {
    const Token token = take();
    if (token.kind == Token::punctuation && token.spelling == "{") scopes_.emplace_back();
    else if (token.kind == Token::punctuation && token.spelling == "}") scopes_.pop_back();
    else if (token.kind == Token::punctuation && token.spelling == ";") continue;
    else if (token.kind == Token::directive) body_directive(std::string(token.spelling));
    else if (token.kind == Token::end) fail(token.line, "the function's '}' is missing");
    else statement(token);
  }
  scopes_.clear();
}

void Parser::body_directive(const std::string& directive) {
  const int line = lexer_.peek().line;
  if (directive == ".reg") return registers();
  if (directive == ".pragma") return skip_to(';');
  if (directive == ".loc") {  // .loc file line column {, function_name label, inlined_at file line column}
    while (!failed() && (lexer_.peek().kind == Token::integer || at(','))) {
      if (!take_if(',')) {
        take();
      } else {
        while (!failed() && lexer_.peek().kind == Token::word) take();
        if (take_if('+')) take();
      }
    }
    return;
  }
  const Space space = directive == ".param"    ? Space::param
                      : directive == ".local"  ? Space::local
                      : directive == ".shared" ? Space::shared
                      : directive == ".global" ? Space::global
                      : directive == ".const"  ? Space::constant
                                               : Space::generic;
  if (space == Space::generic) return fail(line, "directive '" + directive + "' is not known to the emulator");
  if (space == Space::global || space == Space::constant)
    return fail(line, "a variable of a function in " + directive + " is not known to the emulator");
  variable(space, true, function_->variables, nullptr);
  if (!failed()) scopes_.back().variables[function_->variables.back().name] = &function_->variables.back();
}

void Parser::registers() {
  const Token type = take();
  const int bytes = type.kind == Token::directive ? bytes_of_type(type.spelling.substr(1)) : -1;
  if (bytes < 0) return fail(type.line, "registers of type '" + std::string(type.spelling) + "' are not known to the emulator");
  auto add = [&](std::string name) {
    function_->registers.push_back({std::move(name), bytes == 1 ? 2 : bytes});
    scopes_.back().registers[function_->registers.back().name] = &function_->registers.back();
  };
  do {
    const std::string name = word("a register's name");
    if (take_if('<')) {
      const int64_t count = integer();
      for (int64_t i = 0; i < count; ++i) add(name + std::to_string(i));
      expect('>');
    } else {
      add(name);
    }
  } while (take_if(','));
  expect(';');
}

Operand Parser::named(Token word) {
  Operand operand;
  operand.text = word.spelling;
  if (operand.text == "_") {
    operand.kind = Operand::sink;
    return operand;
  }
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto found = scope->registers.find(operand.text); found != scope->registers.end()) {
      operand.reg = found->second;
      return operand;
    }
    if (auto found = scope->variables.find(operand.text); found != scope->variables.end()) {
      operand.variable = found->second;
      return operand;
    }
  }
  return operand;  // a label, a function, a module's variable or a special register: resolved once everything is read
}

Operand Parser::address() {
  Operand operand;
  if (lexer_.peek().kind == Token::word) operand = named(take());
  else operand.offset = integer();
  operand.kind = Operand::address;
  while (!failed() && !at(']')) {
    if (!take_if('+') && !at('-')) fail(lexer_.peek().line, "expected an offset");
    operand.offset += integer();
  }
  expect(']');
  return operand;
}

Operand Parser::list(char stop, char separator) {
  Operand operand;
  operand.kind = Operand::vector;
  while (!failed() && !at(stop)) {
    operand.elements.push_back(this->operand());
    if (!take_if(separator)) break;
  }
  expect(stop);
  return operand;
}

Operand Parser::operand() {
  if (take_if('[')) return address();
  if (take_if('{')) return list('}', ',');
  if (take_if('(')) return list(')', ',');
  if (take_if('!')) {
    Operand inner = operand();
    inner.negated = true;
    return inner;
  }
  const bool negative = take_if('-');
  const Token token = take();
  Operand operand;
  operand.bits = token.bits;
  if (token.kind == Token::integer) operand.kind = Operand::integer;
  else if (token.kind == Token::float32) operand.kind = Operand::float32;
  else if (token.kind == Token::float64) operand.kind = Operand::float64;
  else if (token.kind == Token::word && !negative) operand = named(token);
  else fail(token.line, "expected an operand, not '" + std::string(token.spelling) + "'");
  if (negative) {
    if (operand.kind == Operand::integer) operand.bits = 0 - operand.bits;
    else operand.bits ^= operand.kind == Operand::float32 ? 1ull << 31 : 1ull << 63;
  }
  if (token.kind == Token::word && take_if('|')) {
    Operand pair;
    pair.kind = Operand::pair;
    pair.elements = {operand, this->operand()};
    return pair;
  }
  if (token.kind == Token::word && (at('+') || at('-')) && !operand.reg) {  // address of a variable, displaced
    take_if('+');
    operand.offset = integer();
  }
  return operand;
}

void Parser::statement(Token first) {
  Statement statement;
  statement.line = first.line;
  if (first.spelling == "@") {
    const bool negated = take_if('!');
    const Token name = take();
    const Operand guard = named(name);
    if (!guard.reg || guard.reg->bytes != 0) return fail(first.line, "'" + guard.text + "' is not a predicate");
    statement.guard = guard.reg;
    statement.guard_negated = negated;
    first = take();
  }
  if (first.kind != Token::word) return fail(first.line, "expected an instruction, not '" + std::string(first.spelling) + "'");
  if (!statement.guard && take_if(':')) {  // a label, of an instruction or of a list of targets
    const std::string label(first.spelling);
    const std::string directive = directive_here();
    if (directive == "branchtargets") {
      take();
      do function_->branch_targets[label].push_back(word("a label"));
      while (take_if(','));
      return expect(';');
    }
    if (directive == "callprototype" || directive == "calltargets")
      return fail(first.line, "a call through an address is not known to the emulator");
    if (!function_->labels.emplace(label, function_->statements.size()).second)
      fail(first.line, "label '" + label + "' appears twice");
    return;
  }
  std::string_view rest = first.spelling;
  for (bool opcode = true; !rest.empty(); opcode = false) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    if (opcode) statement.opcode = rest.substr(0, dot);
    else statement.modifiers.emplace_back(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  while (!failed() && !at(';')) {
    statement.operands.push_back(operand());
    if (!take_if(',')) break;
  }
  expect(';');
  function_->statements.push_back(std::move(statement));
}

}  // namespace sheaf::ptx
