// The stand-in cuDNN's engines: which graphs each takes, in the order of its heuristics, and plans as text.
#include "tests/cuda/stand_in/cudnn.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace stand_in {
namespace {

/// What engines ask of a graph.
struct Traits {
  bool bare = false;    ///< a convolution alone
  bool joined = false;  ///< with something in front of it, or sums by channel
  bool narrow = false, same_types = true, channels_last = false, eights = false, weights = false;
};

bool is_convolution(const DnnDescriptor& operation) {
  return operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
         operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
         operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

Traits traits_of(const DnnDescriptor& graph) {
  const auto& operations = graph.attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors;
  Traits traits;
  traits.bare = operations.size() == 1;
  std::set<cudnnDataType_t> types;
  for (const DnnRef& operation : operations) {
    if (is_convolution(*operation)) {
      const bool forward = operation->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
      traits.weights = operation->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
      const DnnRef x = operation->at(forward          ? CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X
                                     : traits.weights ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X
                                                      : CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
      const DnnRef y = operation->at(forward          ? CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y
                                     : traits.weights ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY
                                                      : CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
      const auto channels = [](const DnnRef& tensor) { return tensor->list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)[1]; };
      const auto strides = y->list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
      traits.channels_last = strides[1] == 1;
      traits.eights = channels(x) % 8 == 0 && channels(y) % 8 == 0;
      traits.joined |= (forward || traits.weights) && x->get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    }
    traits.joined |= operation->type == CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR ||
                     operation->type == CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR;
    for (const auto& [name, attribute] : operation->attributes)
      for (const DnnRef& tensor : attribute.descriptors)
        if (tensor->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && !tensor->get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL))
          types.insert(tensor->get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE));
  }
  traits.narrow = types.size() > 1 || !types.count(CUDNN_DATA_FLOAT);
  traits.same_types = types.size() == 1;
  return traits;
}

struct Engine {
  int64_t index;
  std::vector<cudnnBackendNumericalNote_t> notes;
  bool compiled;
  int64_t choices;  ///< of its only knob
  int64_t workspace;
  bool (*takes)(const Traits&);
};

/// In the order of the heuristics; the last is the fallback.
const std::vector<Engine>& engines() {
  static const auto& all = *new std::vector<Engine>{
      {20, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, false, 1, 4096, [](const Traits& of) { return of.bare && of.weights; }},
      {41, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, false, 3, 1000, [](const Traits& of) { return of.bare && of.channels_last; }},
      {70, {}, false, 4, 768, [](const Traits& of) { return of.bare && !of.narrow && !of.channels_last; }},
      {50, {CUDNN_NUMERICAL_NOTE_WINOGRAD}, false, 1, 0, [](const Traits& of) { return of.bare && !of.weights; }},
      {7,
       {CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
       false,
       2,
       0,
       [](const Traits& of) { return !of.bare && !of.joined && of.narrow && of.same_types && of.channels_last; }},
      {65,
       {CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
       false,
       1,
       512,
       [](const Traits& of) { return of.joined && of.narrow && of.channels_last && of.eights; }},
      {33,
       {CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
       true,
       2,
       0,
       [](const Traits& of) { return !of.bare && !of.joined && of.channels_last; }},
      {0, {}, false, 1, 0, [](const Traits& of) { return of.bare; }},
  };
  return all;
}

DnnRef ready(DnnDescriptor descriptor) {
  descriptor.final = true;
  return std::make_shared<const DnnDescriptor>(std::move(descriptor));
}

DnnRef configuration(const DnnRef& graph, const Engine& engine, int64_t choice) {
  DnnDescriptor made{CUDNN_BACKEND_ENGINE_DESCRIPTOR}, knob{CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR},
      all{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR};
  made.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, std::vector<int64_t>{engine.index});
  made.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {graph});
  made.set(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, engine.notes);
  made.set(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
           engine.compiled ? std::vector{CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION} : std::vector<cudnnBackendBehaviorNote_t>{});
  knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, std::vector{CUDNN_KNOB_TYPE_TILE_SIZE});
  knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, std::vector<int64_t>{choice});
  all.set(CUDNN_ATTR_ENGINECFG_ENGINE, {ready(std::move(made))});
  all.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, {ready(std::move(knob))});
  return ready(std::move(all));
}

int64_t engine_of(const DnnDescriptor& configuration) {
  return configuration.at(CUDNN_ATTR_ENGINECFG_ENGINE)->get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
}
int64_t choice_of(const DnnDescriptor& configuration) {
  return configuration.at(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)->get<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
}

void write(std::ostream& out, const DnnDescriptor& descriptor) {
  out << int(descriptor.type) << ' ' << descriptor.attributes.size() << ' ';
  for (const auto& [name, attribute] : descriptor.attributes) {
    out << int(name) << ' ' << int(attribute.type) << ' ' << attribute.count << ' ';
    if (attribute.type == CUDNN_TYPE_HANDLE) continue;
    for (const DnnRef& one : attribute.descriptors) write(out, *one);
    for (const char byte : attribute.bytes) out << int(static_cast<unsigned char>(byte)) << ' ';
  }
}

/// Null: not whole.
DnnRef read(std::istream& in, int depth = 0) {
  int type = 0;
  size_t attributes = 0;
  if (!(in >> type >> attributes) || attributes > 64 || depth > 8) return nullptr;
  DnnDescriptor descriptor{static_cast<cudnnBackendDescriptorType_t>(type)};
  for (size_t i = 0; i < attributes; ++i) {
    int name = 0, of = 0;
    DnnAttribute attribute;
    if (!(in >> name >> of >> attribute.count) || attribute.count < 0 || attribute.count > 1024) return nullptr;
    attribute.type = static_cast<cudnnBackendAttributeType_t>(of);
    if (attribute.type == CUDNN_TYPE_HANDLE) continue;
    for (int64_t k = 0; k < attribute.count && of == CUDNN_TYPE_BACKEND_DESCRIPTOR; ++k) {
      attribute.descriptors.push_back(read(in, depth + 1));
      if (!attribute.descriptors.back()) return nullptr;
    }
    const size_t bytes =
        of == CUDNN_TYPE_BACKEND_DESCRIPTOR ? 0 : static_cast<size_t>(attribute.count) * size_of(attribute.type);
    for (size_t k = 0; k < bytes; ++k) {
      int byte = 0;
      if (!(in >> byte)) return nullptr;
      attribute.bytes.push_back(static_cast<char>(byte));
    }
    descriptor.attributes[static_cast<cudnnBackendAttributeName_t>(name)] = std::move(attribute);
  }
  return ready(std::move(descriptor));
}

std::string heading() { return "stand-in " + std::to_string(dnn_version()) + " sm_90 "; }

}  // namespace

std::vector<DnnRef> configurations(const DnnRef& graph, cudnnBackendHeurMode_t mode) {
  const Traits traits = traits_of(*graph);
  std::vector<DnnRef> all;
  for (const Engine& engine : engines()) {
    if ((engine.index == 0) != (mode == CUDNN_HEUR_MODE_FALLBACK) || !engine.takes(traits)) continue;
    for (int64_t choice = 0; choice < engine.choices; ++choice) all.push_back(configuration(graph, engine, choice));
  }
  return all;
}

size_t workspace_bytes(const DnnDescriptor& configuration) {
  const auto engine = std::find_if(engines().begin(), engines().end(),
                                   [&](const Engine& one) { return one.index == engine_of(configuration); });
  return static_cast<size_t>(engine->workspace * (choice_of(configuration) + 1));
}

std::string name_of(const DnnDescriptor& configuration) {
  return "eng" + std::to_string(engine_of(configuration)) + "_k" + std::to_string(int(CUDNN_KNOB_TYPE_TILE_SIZE)) + "=" +
         std::to_string(choice_of(configuration));
}

std::string text_of(const DnnRef& configuration) {
  std::ostringstream out;
  out << heading();
  write(out, *configuration);
  return out.str();
}

DnnRef configuration_of(const std::string& text) {
  if (text.compare(0, heading().size(), heading()) != 0 || std::getenv("STAND_IN_CUDNN_FORGETS")) return nullptr;
  std::istringstream in(text.substr(heading().size()));
  DnnRef made = read(in);
  return made && made->type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR && made->has(CUDNN_ATTR_ENGINECFG_ENGINE) ? made : nullptr;
}

}  // namespace stand_in
