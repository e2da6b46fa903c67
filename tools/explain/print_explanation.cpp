// An explanation as text: a paragraph for each layer, facts under headings in one column.
#include "runtime/plan/op_list.h"
#include "runtime/base/joined.h"
#include "tools/explain/explain.h"
#include "tools/inspect/format.h"

#include <algorithm>
#include <cstdio>

namespace sheaf {
namespace {

constexpr size_t kWidest = 110;
constexpr size_t kIndent = 12;

/// `text` after `heading` in the first column, with later lines aligned to its beginning.
std::string fact(const std::string& heading, const std::string& text, size_t indent = kIndent) {
  std::string result = "  " + heading + std::string(indent > heading.size() + 2 ? indent - heading.size() - 2 : 1, ' ');
  size_t column = width_of(result);
  bool first = true;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    if (!first && column + 1 + width_of(word) > kWidest) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    result += (first ? "" : " ") + word;
    column += width_of(word) + (first ? 0 : 1);
    first = false;
    start = end + 1;
  }
  return result + "\n";
}

std::string amount(double count, const char* unit) {
  const char* const scale[] = {"", "k", "M", "G", "T", "P"};
  size_t step = 0;
  while (count >= 999.95 && step + 1 < std::size(scale)) count /= 1000, ++step;
  char text[48];
  std::snprintf(text, sizeof text, step == 0 ? "%.0f %s%s" : "%.1f %s%s", count, scale[step], unit);
  return text;
}

std::string operand_text(const ExplainedOperand& operand) {
  const std::vector<Extent> shape(operand.tensor.dims.begin(), operand.tensor.dims.end());
  std::string text =
      operand.role + " " + shape_text(shape) + " " + std::string(short_name(operand.tensor.dtype)) + " as " + operand.format();
  return operand.from_weights ? text + " (made once, when weights are set)" : text;
}

std::string operands_text(const std::vector<ExplainedOperand>& operands) {
  std::string text;
  for (const ExplainedOperand& operand : operands) text += (text.empty() ? "" : "; ") + operand_text(operand);
  return text;
}

std::string sentence(const std::string& text) { return text.ends_with('.') ? text : text + "."; }

std::string operation_text(const ExplainedOperation& operation) {
  std::string devices;
  for (size_t i = 0; i < operation.devices.size(); ++i) {
    devices += (i ? ", " : "") + printable(operation.devices[i]);
    if (i < operation.replicas.size()) devices += " (replica " + std::to_string(operation.replicas[i]) + ")";
  }
  const bool moved = operation.op == Op::reorder || operation.op == Op::copy || operation.implementation == "in place";
  std::string text = fact(moved ? to_string(operation.op) : "runs", printable(operation.implementation) + " on " + devices);
  if (!operation.launch.empty()) text += fact("  launched", "with others at once: " + operation.launch);
  if (!operation.reason.empty()) text += fact("  because", printable(sentence(operation.reason)));
  if (operation.implementation == "in place")
    return text + fact("  because", "the part is made in its slice of the whole: nothing is copied.");
  if (operation.op == Op::copy)
    text += fact("  because", "it goes from one device to another, or its rows aren't contiguous in the whole.");
  if (operation.op == Op::print) return text;
  if (!operation.uncertain.empty()) text += fact("  memory", printable(sentence(operation.uncertain)));
  text += fact("  layout", operands_text(operation.inputs) + " → " + operands_text(operation.outputs));
  text += fact("  cost", (operation.cost.flops > 0 ? amount(operation.cost.flops, "FLOP") + ", " : "") + "reads " +
                             amount(operation.cost.read_bytes, "B") + ", writes " + amount(operation.cost.written_bytes, "B") +
                             (operation.devices.size() > 1 ? ", on each" : ""));
  return text;
}

std::string step_name(const Step& step, const std::string& kernel) {
  if (step.op != Op::kernel) return "operation " + to_string(step.op);
  return "generated kernel " + (kernel.empty() ? step.kernel : kernel);
}

std::string step_text(const ExplainedStep& explained, bool bound, bool alone) {
  const Step& step = *explained.step;
  std::string name = step_name(step, explained.kernel), text;
  if (!explained.owned) {
    text = fact("computed", "within the " + name + " of layer '" + printable(step.layer) + "'");
    for (const std::string& note : step.notes) text += fact("", "- " + printable(note));
    if (!alone) return text;
  } else {
    text =
        fact("computed",
             "by " + name + (step.fused.empty() ? "" : ", which does the work of " + printable(joined(step.fused)) + " too"));
    for (const std::string& note : step.notes) text += fact("", "- " + printable(note));
  }
  if (step.once) return text + fact("runs", "once, when weights are set: it depends on nothing else");
  if (!explained.idle.empty()) return text + fact("runs", "not at all: " + sentence(explained.idle));
  for (const ExplainedOperation& operation : explained.operations) text += operation_text(operation);
  return text;
}

/// Steps that read alike, such as the replications of a layer's weights, are counted.
std::string steps_text(const ExplainedLayer& layer, bool bound, bool alone) {
  std::string text;
  for (size_t i = 0; i < layer.steps.size();) {
    std::string one = step_text(layer.steps[i], bound, alone);
    size_t end = i + 1;
    while (end < layer.steps.size() && step_text(layer.steps[end], bound, alone) == one) ++end;
    if (end - i > 1) one.insert(one.find('\n'), " (" + std::to_string(end - i) + " times)");
    text += one;
    i = end;
  }
  return text;
}

std::string where_text(const ExplainedLayer& layer) {
  std::string text;
  for (size_t n = 0; n < layer.nodes.size();) {
    const PlacementNode& node = layer.nodes[n];
    std::string devices, ids;
    size_t end = n;
    for (; end < layer.nodes.size() && layer.nodes[end].op == node.op && layer.nodes[end].reason == node.reason &&
           (end == n || layer.nodes[end].replica > layer.nodes[end - 1].replica);
         ++end) {
      devices += (end > n ? ", " : "") + printable(layer.nodes[end].device);
      if (layer.nodes[end].replica >= 0) devices += " (replica " + std::to_string(layer.nodes[end].replica) + ")";
      ids += (end > n ? ", " : "") + layer.nodes[end].id;
    }
    std::string what = printable(node.op) + " on " + devices + " [" + ids + "]";
    if (!node.chunks.empty()) what += ", chunks " + chunks_text(node.chunks);
    if (node.inserted) what += ", moves " + bytes_text(node.bytes_moved);
    text += fact(n == 0 ? "where" : "", what);
    if (!node.reason.empty()) text += fact("  because", printable(sentence(node.reason)));
    else if (node.region >= 0 && !node.inserted)
      text += fact("  because", "it is in a DataParallel layer: each replica computes its chunk, on its own device.");
    n = end;
  }
  return text;
}

}  // namespace

std::string print_text(const Explanation& explanation) {
  const bool bound = !explanation.devices.empty(), alone = explanation.layers.size() == 1;
  std::string text = "model " + printable(explanation.model) + ", program " + printable(explanation.program);
  text += bound ? " on " + printable(joined(explanation.devices)) + " with batch " + std::to_string(explanation.batch)
                : ", any device list and batch";
  text += "\n";
  for (const PlannedDevice& device : explanation.planned)
    text += fact("not here", printable(device.device + ": " + sentence(device.why)));
  for (const ExplainedLayer& layer : explanation.layers) {
    text += "\n" + (layer.layer.empty() ? std::string("(of no layer)") : printable(layer.layer));
    if (!layer.nodes.empty() && layer.nodes[0].location.line > 0) {
      const Location& at = layer.nodes[0].location;
      text += "   " + printable(at.file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
    }
    text += "\n" + where_text(layer);
    text += steps_text(layer, bound, alone);
    if (!layer.vanished.empty()) text += fact("computed", "not at all: " + sentence(layer.vanished));
  }
  if (explanation.layers.empty()) text += "\nnothing here is all of that at once\n";
  if (!bound) text += "\nWith --devices and --batch: implementations, layouts and costs too.\n";
  return text;
}

std::string print_text(const Why& why) {
  const PlacementNode& node = why.node;
  std::string text = node.id + ": " + printable(node.op);
  const std::string& name = node.layer.empty() ? node.name : node.layer;
  if (!name.empty()) text += " " + printable(name);
  text += " on " + printable(node.device) + "\n";
  for (const std::string& fact_text : why.chain)
    text += fact(&fact_text == &why.chain.front() ? "why" : "", printable(fact_text), 10);
  for (const std::string& line : why.before) text += fact(&line == &why.before.front() ? "before" : "", printable(line), 10);
  for (const std::string& line : why.after) text += fact(&line == &why.after.front() ? "after" : "", printable(line), 10);
  return text;
}

}  // namespace sheaf
