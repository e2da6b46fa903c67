#include "tools/estimate/cluster.h"

#include "runtime/base/file.h"
#include "runtime/base/printable.h"
#include "runtime/cost/interpolation.h"
#include "runtime/plan/json_node.h"
#include "runtime/plan/json_text.h"
#include "runtime/session/open_devices.h"

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

constexpr uint64_t kLargestFile = 1 << 20;

double number_in(const JsonNode& node, double least, double most, const char* what) {
  const double value = node.json().is_number() ? node.json().get<double>() : std::nan("");
  if (!(value >= least && value <= most) || !std::isfinite(value)) node.fail(std::string("must be ") + what);
  return value;
}

Link read_link(const JsonNode& node) {
  Link link;
  node.only({"bytes_per_second", "seconds", "occupies", "efficiency"});
  if (node.failed()) return link;
  link.bytes_per_second = number_in(node.field("bytes_per_second"), 1, 1e18, "a number of bytes a second, 1 or more");
  link.seconds = number_in(node.field("seconds"), 0, 1e3, "a number of seconds from 0 to 1000");
  if (node.has("occupies")) link.occupies = number_in(node.field("occupies"), 0, 1, "a share from 0 to 1");
  if (node.failed() || !node.has("efficiency")) return link;
  const JsonNode list = node.field("efficiency");
  for (size_t i = 0; i < list.size() && !node.failed(); ++i) {
    const JsonNode pair = list.element(i);
    if (pair.size() != 2) {
      if (!node.failed()) pair.fail("must be [bytes of a message, share of the bandwidth]");
      break;
    }
    const double least = link.efficiency.empty() ? 1 : std::nextafter(link.efficiency.back().first, 1e18);
    const double bytes = number_in(pair.element(0), least, 1e18, "a number of bytes, larger than the one before");
    link.efficiency.emplace_back(bytes, number_in(pair.element(1), 1e-6, 1, "a share above 0, up to 1"));
  }
  return link;
}

std::string known_devices() {
  std::string text = "cpu";
  for (const std::string& model : device_models()) text += ", " + model;
  return text;
}

Cluster read(const JsonNode& root, Cluster cluster) {
  root.only({"sheaf_cluster", "name", "nodes", "devices", "device", "threads", "within", "between"});
  if (root.failed()) return cluster;
  root.field("sheaf_cluster").version("1.0");
  if (root.failed()) return cluster;
  if (root.has("name")) cluster.name = root.field("name").text();
  cluster.nodes = static_cast<int>(root.field("nodes").integer(1, kMostClusterDevices));
  cluster.devices = static_cast<int>(root.field("devices").integer(1, kMostClusterDevices));
  if (root.failed()) return cluster;
  if (int64_t{cluster.nodes} * cluster.devices > kMostClusterDevices)
    root.field("nodes").fail("times `devices` is more than " + std::to_string(kMostClusterDevices));
  cluster.device = root.field("device").text();
  const std::vector<std::string> models = device_models();
  if (!root.failed() && cluster.device != "cpu" && std::find(models.begin(), models.end(), cluster.device) == models.end())
    root.field("device").fail(in_quotes(cluster.device) + " is none of " + known_devices());
  if (!root.failed() && root.has("threads")) {
    if (cluster.device != "cpu") root.field("threads").fail("is only for CPU devices");
    cluster.threads = static_cast<int>(root.field("threads").integer(1, 1 << 16));
  }
  if (root.has("within") || cluster.devices > 1) cluster.within = read_link(root.field("within"));
  if (root.has("between") || cluster.nodes > 1) cluster.between = read_link(root.field("between"));
  return cluster;
}

}  // namespace

double Link::rate(double bytes) const {
  return efficiency.empty() ? bytes_per_second : bytes_per_second * interpolated(efficiency, bytes);
}

Result<Cluster> read_cluster(const std::string& file) {
  SHEAF_ASSIGN(auto text, read_file(file, kLargestFile));
  SHEAF_ASSIGN(auto json, parse_ordered_json(file, text));
  JsonReading reading{file, {}};
  Cluster cluster;
  cluster.file = file;
  cluster = read(JsonNode(reading, json), std::move(cluster));
  if (reading.error) return *reading.error;
  return cluster;
}

}  // namespace sheaf
