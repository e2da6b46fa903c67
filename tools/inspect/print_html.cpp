#include "tools/inspect/format.h"
#include "tools/inspect/page.h"
#include "tools/inspect/page_data.h"

namespace sheaf {

namespace {

/// JSON inside <script>: nothing in it can end the element or open a comment.
std::string script_json(const Json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') out += "\\u003c";
    else if (c == '>') out += "\\u003e";
    else if (c == '&') out += "\\u0026";
    else out += c;
  }
  return out;
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else out += c;
  }
  return out;
}

}  // namespace

std::string print_html(const PageContent& content) {
  // Markers in their order in the template; each is searched for after the text filled in before it, so that a model's name
  // can't be mistaken for one.
  const std::pair<std::string_view, std::string> parts[] = {{"<!--SHEAF:TITLE-->", html_escaped(title_of(content))},
                                                            {"/*SHEAF:STYLE*/", page::kStyle},
                                                            {"<!--SHEAF:DATA-->", script_json(page_data(content))},
                                                            {"/*SHEAF:SCRIPT*/", page::kScript}};
  std::string out;
  std::string_view rest = page::kTemplate;
  for (const auto& [marker, content] : parts) {
    const size_t at = rest.find(marker);
    out.append(rest.substr(0, at)).append(content);
    rest.remove_prefix(at + marker.size());
  }
  return out.append(rest);
}

}  // namespace sheaf
