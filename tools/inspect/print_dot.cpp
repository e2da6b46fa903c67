#include "tools/inspect/colours.h"
#include "runtime/base/joined.h"
#include "tools/inspect/format.h"
#include "tools/inspect/picture.h"
#include "tools/inspect/print.h"

#include <map>

namespace sheaf {

namespace {

/// For HTML-like labels and, since entities are read there too, for quoted strings.
std::string dot_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

/// A quoted dot string in which backslashes are literal (dot would replace \N, \G, …).
std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : dot_escaped(text)) (out += c == '\\' ? "\\" : "") += c;
  return out + '"';
}

/// `text`, dot_escaped and broken into lines of about `width` columns.
std::string broken(const std::string& text, size_t width) {
  std::string out, line;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    if (!line.empty() && width_of(line) + 1 + width_of(word) > width) {
      out += dot_escaped(line) + "<BR ALIGN=\"LEFT\"/>";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    start = end + 1;
  }
  return out + dot_escaped(line) + "<BR ALIGN=\"LEFT\"/>";
}

std::string small(const std::string& markup) { return "<FONT POINT-SIZE=\"9\" COLOR=\"#475569\">" + markup + "</FONT>"; }

std::string layer_row(const PlacementNode& node, bool inside_group) {
  const std::string name(inside_group ? last_component(node.layer) : std::string_view(node.layer));
  std::string shape = node.results.empty() ? "" : shape_text(node.results[0].shape);
  return "<TR><TD ALIGN=\"LEFT\"><B>" + dot_escaped(node.op) + "</B></TD><TD ALIGN=\"LEFT\">" + dot_escaped(name) +
         "</TD><TD ALIGN=\"LEFT\">" + small(dot_escaped(shape)) + "</TD></TR>";
}

std::string moving_rows(const PlacementNode& node) {
  const std::string name = node.layer.empty() ? node.name : node.layer;
  std::string rows =
      "<TR><TD ALIGN=\"LEFT\"><B>" + dot_escaped(node.op) + "</B>&#160;&#160;" + dot_escaped(name) + "</TD></TR>";
  std::string facts;
  if (node.inserted) facts = "moves " + bytes_text(node.bytes_moved);
  if (!node.chunks.empty()) facts += ", chunks " + chunks_text(node.chunks);
  if (!facts.empty()) rows += "<TR><TD ALIGN=\"LEFT\">" + small(dot_escaped(facts)) + "</TD></TR>";
  if (!node.reason.empty())
    rows +=
        "<TR><TD ALIGN=\"LEFT\" BALIGN=\"LEFT\">" + small("<I>" + broken(printable(node.reason), 46) + "</I>") + "</TD></TR>";
  return rows;
}

std::string tooltip_of(const PlacementGraph& graph, const PictureBox& box) {
  std::string text;
  for (const int n : box.nodes) {
    const PlacementNode& node = graph.nodes[static_cast<size_t>(n)];
    if (!text.empty()) text += "; ";
    text += node.op + " " + (node.layer.empty() ? node.name : node.layer) + " on " + node.device;
    if (!node.reason.empty()) text += ": " + node.reason;
  }
  return text;
}

class DotPrinter {
 public:
  explicit DotPrinter(const PlacementGraph& graph) : graph_(graph), picture_(picture_of(graph)) {}

  std::string print() {
    text_ = "digraph " + dot_string(graph_.model) + " {\n" +
            "  graph [rankdir=TB, newrank=false, nodesep=0.35, ranksep=0.32, labelloc=t, fontsize=14, label=" +
            dot_string(title()) + ", fontname=\"Helvetica,Arial,sans-serif\"]\n" +
            "  node [shape=plain, fontsize=11, fontname=\"Helvetica,Arial,sans-serif\"]\n" +
            "  edge [weight=3, fontsize=9, color=\"#64748b\", fontcolor=\"#475569\", arrowsize=0.7, "
            "fontname=\"Helvetica,Arial,sans-serif\"]\n";
    // A device's boxes by layer group, both in order of first use.
    std::vector<std::string> devices;
    std::map<std::string, std::vector<int>> boxes;
    for (size_t b = 0; b < picture_.boxes.size(); ++b) {
      const std::string& device = first(b).device;
      if (!boxes.contains(device)) devices.push_back(device);
      boxes[device].push_back(static_cast<int>(b));
    }
    for (const std::string& device : devices) print_device(device, boxes[device]);
    for (const PictureArrow& arrow : picture_.arrows) {
      text_ +=
          "  " + id(arrow.from) + " -> " + id(arrow.to) + " [label=" + dot_string(" " + arrow.what + ", " + arrow.bytes + " ");
      text_ += arrow.parameters ? ", weight=1, style=dashed, color=\"#7b4fc9\"]\n" : "]\n";
    }
    return text_ + "}\n";
  }

 private:
  const PlacementNode& first(size_t box) const { return graph_.nodes[static_cast<size_t>(picture_.boxes[box].nodes[0])]; }
  /// "net.module.fc: linear (s3_r0)", "net.module.conv1: conv2d … relu (s4)": shown by viewers that draw no labels; Netron
  /// shows the part from the last dot on.
  std::string id(int box) const {
    const PictureBox& of = picture_.boxes[static_cast<size_t>(box)];
    const PlacementNode &head = first(static_cast<size_t>(box)), &tail = graph_.nodes[static_cast<size_t>(of.nodes.back())];
    const std::string& name = head.layer.empty() ? head.name : head.layer;
    return dot_string((name.empty() ? "" : name + ": ") + head.op + (of.nodes.size() > 1 ? " … " + tail.op : "") + " (" +
                      head.id + ")");
  }

  std::string title() const {
    std::string text = graph_.model + ", program " + graph_.program;
    if (!graph_.expanded) return text + ", any device list and batch";
    return text + ", batch " + std::to_string(graph_.batch) + " on " + joined(graph_.devices, ",");
  }

  void print_device(const std::string& device, const std::vector<int>& boxes) {
    open_cluster("  ", device_label(device), "filled,rounded", "#f1f5f9", "#334155", 13);
    std::vector<std::pair<std::string, int>> groups;  // with the replica: one cluster for each
    std::map<std::pair<std::string, int>, std::vector<int>> members;
    for (const int b : boxes) {
      const std::pair key(picture_.boxes[static_cast<size_t>(b)].group, first(static_cast<size_t>(b)).replica);
      if (!members.contains(key)) groups.push_back(key);
      members[key].push_back(b);
    }
    for (const auto& key : groups) {
      const bool cluster = !key.first.empty() && members[key].size() > 1 && !is_region_body(key.first);
      if (cluster) open_cluster("    ", key.first, "filled,rounded", "#e2e8f0", "#94a3b8", 10);
      for (const int b : members[key]) print_box(b, cluster);
      if (cluster) text_ += "    }\n";
    }
    text_ += "  }\n";
  }

  /// In a symbolic graph a region's name stands for the devices of its replicas.
  std::string device_label(const std::string& device) const {
    for (const PlacementRegion& region : graph_.regions)
      if (!graph_.expanded && region.name == device) return device + " (each replica)";
    return device;
  }

  /// Whether `group` is a whole region ("net", "net.module"), which its device box shows already.
  bool is_region_body(const std::string& group) const {
    for (const PlacementRegion& region : graph_.regions)
      if (group == region.name || group == region.name + ".module") return true;
    return false;
  }

  void open_cluster(const std::string& indent, const std::string& label, const char* style, const char* fill, const char* line,
                    int font) {
    text_ += indent + "subgraph cluster_" + std::to_string(clusters_++) + " {\n" + indent +
             "  graph [label=" + dot_string(label) + ", labeljust=l, style=\"" + style + "\", fillcolor=\"" + fill +
             "\", color=\"" + line + "\", fontsize=" + std::to_string(font) + ", margin=10, tooltip=" + dot_string(label) +
             "]\n";
  }

  void print_box(int index, bool inside_group) {
    const PictureBox& box = picture_.boxes[static_cast<size_t>(index)];
    const PlacementNode& head = first(static_cast<size_t>(index));
    const NodeColours colours = colours_of(head);
    const bool layer = !head.inserted && head.kind == PlacementNode::operation;
    std::string rows;
    for (const int n : box.nodes) {
      const PlacementNode& node = graph_.nodes[static_cast<size_t>(n)];
      rows += layer ? layer_row(node, inside_group) : moving_rows(node);
    }
    text_ += "    " + id(index) + " [tooltip=" + dot_string(tooltip_of(graph_, box)) +
             ", label=<<TABLE STYLE=\"ROUNDED\" BORDER=\"1\" CELLBORDER=\"0\" CELLSPACING=\"1\" CELLPADDING=\"2\" "
             "BGCOLOR=\"" +
             colours.fill + "\" COLOR=\"" + colours.line + "\">" + rows + "</TABLE>>]\n";
  }

  const PlacementGraph& graph_;
  const Picture picture_;
  std::string text_;
  int clusters_ = 0;
};

}  // namespace

std::string print_dot(const PlacementGraph& graph) { return DotPrinter(graph).print(); }

}  // namespace sheaf
