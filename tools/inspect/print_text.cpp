#include "tools/inspect/format.h"
#include "runtime/base/joined.h"
#include "tools/inspect/print.h"

#include <algorithm>
#include <array>

namespace sheaf {

namespace {

enum Column { kDevice, kReplica, kOp, kLayer, kResult, kBytes, kMoved, kColumns };
using Row = std::array<std::string, kColumns>;
constexpr size_t kWidest = 138;

std::string repeat(size_t count, const char* text) {
  std::string result;
  while (count-- > 0) result += text;
  return result;
}

/// The middle of a long name says least: its start names the module, its end the layer.
std::string shortened(const std::string& text, size_t width) {
  if (width_of(text) <= width) return text;
  std::vector<std::string> characters;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) characters.emplace_back();
    characters.back() += c;
  }
  const size_t head = (width - 1) / 2, tail = width - 1 - head;
  std::string result;
  for (size_t i = 0; i < head; ++i) result += characters[i];
  result += "…";
  for (size_t i = characters.size() - tail; i < characters.size(); ++i) result += characters[i];
  return result;
}

/// `text` in lines of at most kWidest columns, each after `indent` (at most 100) spaces.
std::string wrapped(const std::string& text, size_t indent) {
  std::string result, line;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = shortened(text.substr(start, end - start), kWidest - indent);
    if (!line.empty() && indent + width_of(line) + 1 + width_of(word) > kWidest) {
      result += std::string(indent, ' ') + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    start = end + 1;
  }
  return result + std::string(indent, ' ') + line + "\n";
}

std::string result_text(const PlacementNode& node) {
  if (node.results.empty()) return "";
  if (copies_to_replicas(node.movement) && node.parameter_bytes > 0)
    return node.results.size() == 1 ? "1 parameter" : std::to_string(node.results.size()) + " parameters";
  std::string text = tensor_text(node.results[0]);
  if (!node.chunks.empty()) text = cuts_chunks(node.movement) ? "chunks " + chunks_text(node.chunks) : text;
  if (node.results.size() > 1) text += " +" + std::to_string(node.results.size() - 1);
  return text;
}

std::optional<Extent> result_bytes(const PlacementNode& node) {
  std::optional<Extent> sum = Extent(0);
  for (const PlacementTensor& result : node.results) {
    if (!result.bytes) return std::nullopt;
    sum = *sum + *result.bytes;
  }
  return sum;
}

Row row_of(const PlacementGraph& graph, const PlacementNode& node) {
  Row row;
  row[kDevice] = printable(node.device);
  if (node.replica >= 0) row[kReplica] = std::to_string(node.replica);
  row[kOp] = (node.region >= 0 && !node.inserted ? "  " : "") + printable(node.op);
  row[kLayer] = printable(node.layer.empty() ? node.name : node.layer);
  row[kResult] = result_text(node);
  // A chunk's size is on the rows of the replicas that get it.
  if (!node.results.empty() && !(graph.expanded && cuts_chunks(node.movement))) row[kBytes] = bytes_text(result_bytes(node));
  if (node.inserted) row[kMoved] = bytes_text(node.bytes_moved);
  return row;
}

std::string header(const PlacementGraph& graph) {
  std::string text = "model " + printable(graph.model) + ", program " + printable(graph.program);
  text += graph.expanded ? " on " + printable(joined(graph.devices, ",")) + " with " + batch_text(graph.batch, graph.shards)
                         : ", any device list and batch";
  text += "\n";
  for (const PlacementRegion& region : graph.regions) {
    text += "region " + printable(region.name) + ": dimension " + std::to_string(region.dim) + " split over ";
    text += region.devices.empty() ? "all devices" : printable(joined(region.devices, ","));
    text += ", gathered on " + printable(region.output_device) + "\n";
  }
  return text;
}

}  // namespace

std::string print_text(const PlacementGraph& graph) {
  std::vector<Row> rows = {{"device", "replica", "op", "layer", "result", "bytes", "moved"}};
  for (const PlacementNode& node : graph.nodes) rows.push_back(row_of(graph, node));
  std::array<size_t, kColumns> width{};
  std::array<bool, kColumns> used{};
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t c = 0; c < kColumns; ++c) {
      width[c] = std::max(width[c], width_of(rows[r][c]));
      used[c] |= r > 0 && !rows[r][c].empty();
    }
  size_t total = 0;
  for (size_t c = 0; c < kColumns; ++c)
    if (used[c]) total += width[c] + 2;
  // Names are shortened if the table would be too wide; every layer is recognisable at 24 columns.
  if (total > kWidest) {
    width[kLayer] = std::max<size_t>(24, width[kLayer] - std::min(width[kLayer], total - kWidest));
    width[kResult] = std::min<size_t>(width[kResult], 48);
    width[kDevice] = std::min<size_t>(width[kDevice], 24);
  }

  std::string text = header(graph) + "\n";
  size_t reason_indent = 2;
  for (size_t c = 0; c < kOp; ++c)
    if (used[c]) reason_indent += width[c] + 2;
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (size_t c = 0; c < kColumns; ++c) {
      if (!used[c]) continue;
      const std::string cell = shortened(rows[r][c], width[c]);
      const std::string padding(width[c] - std::min(width[c], width_of(cell)), ' ');
      const bool right = c == kBytes || c == kMoved || c == kReplica;
      line += (right ? padding + cell : cell + padding) + "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (r == 0) {
      text += repeat(std::min(total, kWidest), "─") + "\n";
      continue;
    }
    const PlacementNode& node = graph.nodes[r - 1];
    // Replicas of one layer share its reason.
    if (!node.reason.empty() && node.replica <= 0) text += wrapped(printable(node.reason), reason_indent);
  }
  return text;
}

}  // namespace sheaf
