// Reads the text of a module: declarations here, bodies of functions in parse_body.cpp.
#pragma once

#include "tests/ptx/lexer.h"
#include "tests/ptx/syntax.h"

namespace sheaf::ptx {

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : lexer_(text) { text_.name = name; }
  Result<Text> parse();

 private:
  // Declarations.
  void module_directive();
  void function(bool entry);
  void debug_section();
  std::vector<const Variable*> parameter_list(Function& function);
  /// After the directive of its space: .align 4 .b8 name[12] = {…}.
  void variable(Space space, bool initialised, std::deque<Variable>& into, std::vector<const Variable*>* made);
  void initializer(Variable& variable, size_t element);
  void skip_to(char stop);

  // Bodies.
  void body();
  void body_directive(const std::string& directive);
  void registers();
  void statement(Token first);
  Operand operand();
  Operand address();
  Operand named(Token word);
  Operand list(char stop, char separator);

  // Tokens; after an error all tests fail and the parser runs out.
  bool failed() const { return !error_.diagnostics.empty(); }
  void fail(int line, const std::string& what);
  Token take() { return lexer_.take(); }
  bool at(char c) const { return lexer_.peek().kind == Token::punctuation && lexer_.peek().spelling[0] == c; }
  bool take_if(char c);
  void expect(char c);
  int64_t integer();
  std::string word(const char* what);
  std::string directive_here() const;

  /// Names of the functions' registers and variables, innermost scope last.
  struct Scope {
    std::unordered_map<std::string, const Register*> registers;
    std::unordered_map<std::string, const Variable*> variables;
  };

  Lexer lexer_;
  Text text_;
  Error error_;
  Function* function_ = nullptr;
  std::vector<Scope> scopes_;
};

/// Bytes of ".f32" and the like, without its dot; 0 for "pred", -1 if it isn't a type.
int bytes_of_type(std::string_view type);

}  // namespace sheaf::ptx
