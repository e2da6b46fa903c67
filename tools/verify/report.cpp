#include "tools/verify/report.h"

#include "tools/estimate/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace sheaf {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// Enough digits to tell two float32 numbers apart.
std::string exact(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string index_text(const std::vector<int64_t>& index) {
  std::string text = "[";
  for (size_t i = 0; i < index.size(); ++i) text += (i ? ", " : "") + std::to_string(index[i]);
  return text + "]";
}

std::string ulps_text(double ulps) { return ulps < 1e6 ? std::to_string(static_cast<int64_t>(ulps)) : number(ulps); }

std::vector<std::string> cells(const Difference& difference) {
  if (difference.elements == 0) return {"-", "", ""};
  if (difference.bitwise()) return {"bitwise", "", ""};
  return {number(difference.largest_absolute), number(difference.largest_relative), ulps_text(difference.largest_ulps)};
}

Table headed(const std::string& names) {
  Table table;
  table.row({names, "tensors", "operation", "relative", "ULP", "end to end", "relative", "ULP"});
  return table;
}

void add_row(Table& table, const std::string& name, const ValueDifference& value) {
  std::vector<std::string> row = {name, std::to_string(value.compared)};
  for (const Difference* difference : {&value.alone, &value.end_to_end})
    for (std::string& cell : cells(*difference)) row.push_back(std::move(cell));
  table.row(std::move(row));
}

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(number(value)); }

Json json_of(const Difference& difference) {
  return {{"elements", difference.elements},
          {"bitwise", difference.bitwise()},
          {"max_absolute", number_json(difference.largest_absolute)},
          {"max_relative", number_json(difference.largest_relative)},
          {"max_ulps", number_json(difference.largest_ulps)}};
}

Json json_of(const std::vector<ValueDifference>& values) {
  Json list = Json::array();
  for (const ValueDifference& value : values) {
    Json json = {{"name", value.name}, {"layer", value.layer}};
    if (!value.op.empty()) json["op"] = value.op;
    if (value.layout.kind != ValueLayout::whole) json["layout"] = to_string(value.layout);
    json["compared"] = value.compared;
    json["alone"] = json_of(value.alone);
    json["end_to_end"] = json_of(value.end_to_end);
    list.push_back(std::move(json));
  }
  return list;
}

Json json_of(const Divergence& divergence) {
  Json json = {{"check", divergence.check},
               {"layer", divergence.layer},
               {"value", divergence.value},
               {"op", divergence.op},
               {"step", divergence.step}};
  if (divergence.replica >= 0) {
    json["replica"] = divergence.replica;
    json["device"] = divergence.device;
  }
  json["index"] = divergence.index;
  json["expected"] = number_json(divergence.expected);
  json["found"] = number_json(divergence.found);
  json["tolerance"] = number_json(divergence.tolerance);
  json["explanation"] = divergence.explanation;
  if (divergence.location.line > 0)
    json["location"] = {
        {"file", divergence.location.file}, {"line", divergence.location.line}, {"column", divergence.location.column}};
  return json;
}

}  // namespace

void ValueDifference::merge(const ValueDifference& other) {
  compared += other.compared;
  alone.merge(other.alone);
  end_to_end.merge(other.end_to_end);
}

std::vector<ValueDifference> ProgramVerification::layers() const {
  std::vector<ValueDifference> layers;
  for (const ValueDifference& value : values) {
    if (value.op.empty() && check == "operations") continue;  // what the run was given
    auto known = std::find_if(layers.begin(), layers.end(), [&](const auto& row) { return row.layer == value.layer; });
    if (known == layers.end())
      known = layers.insert(layers.end(), ValueDifference{value.layer, value.layer, {}, {}, 0, {}, {}});
    known->merge(value);
  }
  return layers;
}

bool Verification::passed() const {
  return std::none_of(programs.begin(), programs.end(), [](const auto& program) { return program.divergence.has_value(); });
}

std::string to_text(const Divergence& divergence) {
  std::string text = "layer '" + divergence.layer + "'";
  if (divergence.replica >= 0) text += ", replica " + std::to_string(divergence.replica) + " on device " + divergence.device;
  text += ": '" + divergence.value + "'";
  if (!divergence.op.empty()) text += ", made by " + divergence.op + ",";
  text += " diverges at " + index_text(divergence.index) + ": expected " + exact(divergence.expected) + ", found " +
          exact(divergence.found);
  if (divergence.tolerance > 0) text += " (rounding explains " + number(divergence.tolerance) + ")";
  return text;
}

std::string to_text(const Verification& verification) {
  std::string text;
  for (const ProgramVerification& program : verification.programs) {
    text += verification.model + ", program " + program.program + ", " + std::to_string(verification.batch) + " rows ";
    text += program.check == "compiler"  ? "on the host: as compiled, against unpartitioned and unfused"
            : program.check == "model"   ? "on " + verification.devices + ": as compiled, against unpartitioned and unfused"
            : program.check == "against" ? "on " + verification.devices + ": against another framework's results"
                                         : "on " + verification.devices + ": partitioned, against unpartitioned";
    if (program.counts_steps) text += ", " + std::to_string(program.steps) + (program.steps == 1 ? " step" : " steps");
    text += "\n";
    Table table = headed("layer");
    for (const ValueDifference& layer : program.layers()) add_row(table, layer.name, layer);
    text += table.text("  ");
    for (const auto& [title, rows] : {std::pair{"gradient of", &program.gradients}, {"after the step", &program.updated}}) {
      if (rows->empty()) continue;
      Table of = headed(title);
      for (const ValueDifference& value : *rows) add_row(of, value.name, value);
      text += "\n" + of.text("  ");
    }
    text += program.divergence ? "\n" : "  no divergence: every difference is rounding\n\n";
  }
  return text;
}

Json to_json(const Verification& verification) {
  Json json = {{"model", verification.model},
               {"devices", verification.devices},
               {"batch", verification.batch},
               {"passed", verification.passed()}};
  Json programs = Json::array();
  for (const ProgramVerification& program : verification.programs) {
    Json item = {
        {"program", program.program}, {"check", program.check}, {"steps", program.steps}, {"passed", !program.divergence}};
    if (program.divergence) item["divergence"] = json_of(*program.divergence);
    item["layers"] = json_of(program.layers());
    item["values"] = json_of(program.values);
    if (!program.gradients.empty()) item["gradients"] = json_of(program.gradients);
    if (!program.updated.empty()) item["updated"] = json_of(program.updated);
    programs.push_back(std::move(item));
  }
  json["programs"] = std::move(programs);
  return json;
}

}  // namespace sheaf
