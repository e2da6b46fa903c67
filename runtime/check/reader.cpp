#include "runtime/check/reader.h"

#include "runtime/base/file.h"
#include "runtime/base/printable.h"
#include "runtime/plan/base64.h"
#include "runtime/check/check.h"
#include "runtime/check/lengths.h"
#include "runtime/check/plan_header.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/json_node.h"
#include "runtime/plan/kernel_signature.h"
#include "runtime/plan/json_text.h"
#include "runtime/plan/names.h"
#include "runtime/plan/op_list.h"

namespace sheaf {

namespace {

constexpr uint64_t kLargestFile = uint64_t{512} << 20;
constexpr int64_t kMostKernelOperands = 1 << 20;

/// One of an enumeration, by its name.
template <typename T>
T named_at(const JsonNode& node, const char* what, std::optional<T> (*find)(std::string_view)) {
  const std::string name = node.text();
  const std::optional<T> known = find(name);
  if (!known) node.fail(std::string("unknown ") + what + " " + in_quotes(name));
  return known.value_or(T{});
}

/// A string that `parse` (parse_extent, parse_place) understands.
template <typename T>
T parsed_at(const JsonNode& node, Result<T> (*parse)(const std::string&)) {
  const std::string text = node.text();
  if (node.failed()) return {};
  Result<T> value = parse(text);
  if (value) return *std::move(value);
  node.fail(value.error().message());
  return {};
}

Location location_at(const JsonNode& node) {
  node.only({"file", "line", "column"});
  return {node.field("file").text(), node.field("line").number(), node.field("column").number()};
}

Region region_at(const JsonNode& node) {
  node.only({"name", "device_ids", "output_device", "dim", "location"});
  Region region;
  region.name = node.field("name").text();
  if (node.has("device_ids")) region.device_ids = node.field("device_ids").numbers();
  if (node.has("output_device")) region.output_device = node.field("output_device").number();
  region.dim = node.field("dim").number();
  region.location = location_at(node.field("location"));
  return region;
}

Parameter parameter_at(const JsonNode& node) {
  node.only({"name", "dtype", "shape", "buffer", "constant", "transient", "aliases", "init"});
  Parameter parameter;
  parameter.name = node.field("name").text();
  parameter.dtype = named_at(node.field("dtype"), "dtype", dtype_from_name);
  const JsonNode shape = node.field("shape");
  for (size_t i = 0; i < shape.size(); ++i) parameter.shape.push_back(shape.element(i).integer(0, kLargestDim));
  if (node.has("buffer")) parameter.buffer = node.field("buffer").boolean();
  if (node.has("constant")) parameter.constant = node.field("constant").boolean();
  if (node.has("transient")) parameter.transient = node.field("transient").boolean();
  if (node.has("aliases")) parameter.aliases = node.field("aliases").texts();
  parameter.init = node.field("init").json();
  return parameter;
}

template <typename T>
std::vector<T> list_at(const JsonNode& node, T (*read)(const JsonNode&)) {
  std::vector<T> list;
  const size_t size = node.size();
  for (size_t i = 0; i < size && !node.failed(); ++i) list.push_back(read(node.element(i)));
  return list;
}

double count_at(const JsonNode& node) {
  const bool counts = node.json().is_number() && node.json().get<double>() >= 0;
  if (!node.failed() && !counts) node.fail("must be a number, at least 0");
  return counts ? node.json().get<double>() : 0;
}

KernelArithmetic arithmetic_at(const JsonNode& node) {
  node.only({"each", "operand", "instructions"});
  KernelArithmetic term;
  term.each = count_at(node.field("each"));
  term.instructions = node.has("instructions") ? count_at(node.field("instructions")) : term.each;
  if (!node.failed()) term.operand = static_cast<int>(node.field("operand").integer(0, kMostKernelOperands));
  return term;
}

Kernel kernel_at(const JsonNode& node) {
  node.only({"name", "description", "extents", "elementwise", "arithmetic", "gpu", "signatures"});
  Kernel kernel;
  kernel.name = node.field("name").text();
  kernel.description = node.field("description").text();
  kernel.extents = node.field("extents").number();
  if (node.has("elementwise")) kernel.elementwise = node.field("elementwise").boolean();
  if (node.has("arithmetic")) kernel.arithmetic = list_at(node.field("arithmetic"), arithmetic_at);
  if (node.has("gpu")) {
    const JsonNode gpu = node.field("gpu");
    gpu.only({"block", "items"});
    kernel.gpu_block = gpu.field("block").number();
    kernel.gpu_items = gpu.field("items").number();
  }
  return kernel;
}

Symbol symbol_at(const JsonNode& node) {
  node.only({"name", "kind", "region", "of"});
  Symbol symbol;
  symbol.name = node.field("name").text();
  symbol.kind = named_at(node.field("kind"), "kind of symbol", symbol_kind_from_name);
  const bool length = symbol.kind == Symbol::length;
  if (symbol.kind != Symbol::batch && !length) symbol.region = node.field("region").number();
  if (symbol.kind == Symbol::chunk || symbol.kind == Symbol::offset || (length && node.has("of")))
    symbol.of = parsed_at(node.field("of"), parse_extent);
  return symbol;
}

Value value_at(const JsonNode& node) {
  node.only({"name", "dtype", "shape", "place", "role", "source", "layout", "purpose"});
  Value value;
  value.name = node.field("name").text();
  value.dtype = named_at(node.field("dtype"), "dtype", dtype_from_name);
  const JsonNode shape = node.field("shape");
  for (size_t i = 0; i < shape.size(); ++i) value.shape.push_back(parsed_at(shape.element(i), parse_extent));
  value.place = parsed_at(node.field("place"), parse_place);
  value.role = named_at(node.field("role"), "role", value_role_from_name);
  if (node.has("source")) value.source = node.field("source").text();
  if (node.has("layout")) value.layout = parsed_at(node.field("layout"), parse_layout);
  if (node.has("purpose")) {
    value.purpose = named_at(node.field("purpose"), "purpose", purpose_from_name);
    if (value.role != Value::temporary)
      node.field("purpose").fail("what a value that a step doesn't make is for, its role says");
  }
  return value;
}

/// An unknown operation stays a layer of that type, which no executable program may have: check() says so. In a logical program a
/// layer's type may be called as what binding adds ("broadcast").
void read_op(const JsonNode& node, bool logical, Step& step) {
  std::string name = node.text();
  const auto known = op_from_name(name);
  const bool movement = known && moves(*known) && traits(*known).source == Source::program;
  if (known && *known != Op::layer && (!logical || movement)) step.op = *known;
  else step.type = std::move(name);
}

template <bool logical>
Step step_at(const JsonNode& node) {
  node.only({"op", "kernel", "inputs", "roles", "outputs", "attributes", "place", "layer", "location", "fused", "reason",
             "notes", "once", "phase"});
  Step step;
  read_op(node.field("op"), logical, step);
  if (node.has("kernel")) step.kernel = node.field("kernel").text();
  step.inputs = node.field("inputs").numbers();
  step.roles = node.field("roles").texts();
  step.outputs = node.field("outputs").numbers();
  if (node.has("attributes")) {
    const JsonNode attributes = node.field("attributes");
    step.attributes = attributes.json();
    if (!step.attributes.is_object()) attributes.fail("expected an object");
  }
  step.place = parsed_at(node.field("place"), parse_place);
  step.layer = node.field("layer").text();
  if (node.has("location")) step.location = location_at(node.field("location"));
  if (node.has("fused")) step.fused = node.field("fused").texts();
  if (node.has("reason")) step.reason = node.field("reason").text();
  if (node.has("notes")) step.notes = node.field("notes").texts();
  if (node.has("once")) step.once = node.field("once").boolean();
  if (node.has("phase")) step.phase = named_at(node.field("phase"), "phase", phase_from_name);
  return step;
}

Output output_at(const JsonNode& node) {
  node.only({"name", "value"});
  return {node.field("name").text(), node.field("value").number()};
}

Update update_at(const JsonNode& node) {
  node.only({"name", "value"});
  return {node.field("name").text(), node.field("value").number()};
}

Program program_at(const JsonNode& node, Step (*step_at)(const JsonNode&)) {
  node.only({"symbols", "values", "steps", "outputs", "updates"});
  return {list_at(node.field("symbols"), symbol_at), list_at(node.field("values"), value_at),
          list_at(node.field("steps"), step_at), list_at(node.field("outputs"), output_at),
          node.has("updates") ? list_at(node.field("updates"), update_at) : std::vector<Update>()};
}

std::pair<std::string, std::string> object_at(const JsonNode& node) {
  node.only({"level", "data", "text"});
  if (node.field("level").text() == kPtxObject) return {kPtxObject, node.field("text").text()};
  const JsonNode data = node.field("data");
  Result<std::string> bytes = from_base64(data.text());
  if (!bytes) data.fail(bytes.error().message());
  return {node.field("level").text(), bytes ? *std::move(bytes) : std::string()};
}

constexpr int kFirstWithSignatures = 4;  ///< minor number from which on every kernel says what it was made for

/// Every step that runs a kernel is one that the kernel's code was made for; a plan that has been edited would have it write
/// past its operands.
Result<void> check_signatures(const Plan& plan, const JsonNode& kernels, const JsonReading& reading) {
  KernelSignatures stated;
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const std::vector<std::string> texts = kernels.element(i).field("signatures").texts();
    stated[plan.kernels[i].name] = {texts.begin(), texts.end()};
  }
  if (reading.error) return *reading.error;
  for (const auto& [kernel, signatures] : kernel_signatures(plan))
    for (const std::string& signature : signatures)
      if (!stated[kernel].contains(signature))
        return Error({reading.file, 0, 0},
                     "kernels: '" + kernel + "' was not made for a step that runs it, " + signature.substr(0, 200));
  return {};
}

}  // namespace

Result<Plan> parse_plan(std::string file, std::string_view text) {
  SHEAF_ASSIGN(auto document, parse_ordered_json(file, text));
  JsonReading reading{std::move(file), {}};
  const JsonNode root(reading, document);
  const int minor = check_header(root);
  if (!root.failed()) verify_digest(root, document);
  if (root.failed()) return *reading.error;

  root.only({"format", "version", "producer", "requires", "name", "precision", "regions", "parameters", "state", "kernels",
             "programs", "graphs", "training", "ir", "train_ir", "accumulate_ir", "forward_ir", "backward_ir", "objects"});
  Plan plan;
  plan.file = reading.file;
  plan.producer = root.field("producer").text();
  plan.name = root.field("name").text();
  plan.precision = root.field("precision").text();
  plan.requires_ = root.field("requires").texts();
  plan.regions = list_at(root.field("regions"), region_at);
  plan.parameters = list_at(root.field("parameters"), parameter_at);
  if (root.has("state")) plan.state = list_at(root.field("state"), parameter_at);
  plan.kernels = list_at(root.field("kernels"), kernel_at);
  plan.objects = list_at(root.field("objects"), object_at);
  // The executable programs, then the logical ones.
  struct Named {
    const char* name;
    Program &program, &graph;
  };
  const Named named[] = {{"infer", plan.infer, plan.infer_graph},
                         {"train", plan.train, plan.train_graph},
                         {"accumulate", plan.accumulate, plan.accumulate_graph},
                         {"update", plan.update, plan.update_graph},
                         {"forward", plan.forward, plan.forward_graph},
                         {"backward", plan.backward, plan.backward_graph}};
  const JsonNode programs = root.field("programs"), graphs = root.field("graphs");
  for (const JsonNode* list : {&programs, &graphs})
    list->only({"infer", "train", "accumulate", "update", "forward", "backward"});
  for (const auto& [name, program, graph] : named) {
    const bool required = &program == &plan.infer;
    if (required || programs.has(name)) program = program_at(programs.field(name), step_at<false>);
    if (required || graphs.has(name)) graph = program_at(graphs.field(name), step_at<true>);
  }
  plan.training = root.field("training").json();
  plan.ir = root.field("ir").text();
  if (root.has("train_ir")) plan.train_ir = root.field("train_ir").text();
  if (root.has("accumulate_ir")) plan.accumulate_ir = root.field("accumulate_ir").text();
  if (root.has("forward_ir")) plan.forward_ir = root.field("forward_ir").text();
  if (root.has("backward_ir")) plan.backward_ir = root.field("backward_ir").text();
  if (reading.error) return *reading.error;

  SHEAF_TRY(check_sizes(plan, reading.file));
  if (minor >= kFirstWithSignatures) SHEAF_TRY(check_signatures(plan, root.field("kernels"), reading));
  return plan;
}

Result<Plan> load_plan(const std::string& file) {
  SHEAF_ASSIGN(const auto text, read_file(file, kLargestFile));
  return parse_plan(file, text);
}

}  // namespace sheaf
