// A stand-in libcudnn.so.9: handles, the backend interface's descriptors and their attributes, execution. Includes cudnn.h, so that
// its functions have the real ones' names and types. The product reaches it through cudnn-frontend's headers, as the real one.
#include "tests/cuda/stand_in/cudnn.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

namespace stand_in {
namespace {

struct Told {
  Told() {
    if (const char* given = std::getenv("STAND_IN_CUDNN_VERSION")) version = std::stoul(given);
    std::istringstream list(std::getenv("STAND_IN_CUDNN_DURATIONS") ? std::getenv("STAND_IN_CUDNN_DURATIONS") : "");
    for (std::string one; std::getline(list, one, ',');)
      durations[one.substr(0, one.find(':'))] = std::chrono::microseconds(std::stol(one.substr(one.find(':') + 1)));
  }
  std::map<std::string, std::chrono::microseconds> durations;
  std::string refused, last_error;
  size_t version = 91900;
  DnnCounts counts;
};
Told& told() {
  static auto& made = *new Told;
  return made;
}

struct AtTheEnd {
  ~AtTheEnd() {
    const char* file = std::getenv("STAND_IN_CUDNN_COUNTS");
    if (!file) return;
    const DnnCounts& seen = told().counts;
    std::ofstream(file) << "{\"heuristics\": " << seen.heuristics << ", \"built\": " << seen.built
                        << ", \"loaded\": " << seen.loaded << ", \"executed\": " << seen.executed << "}";
  }
} at_the_end;

/// Keeps the words for cudnnGetLastErrorString().
cudnnStatus_t failed(cudnnStatus_t status, std::string words) {
  told().last_error = std::move(words);
  return status;
}
/// A call that breaks a rule.
cudnnStatus_t broken(const std::string& what) {
  fault(what);
  return failed(CUDNN_STATUS_BAD_PARAM, what);
}

/// As `target`'s type demands; null: not made by this library, or given back.
std::shared_ptr<DnnDescriptor> find(const void* descriptor, const char* call) {
  return dnn().descriptors.find(descriptor, call);
}

/// What a graph's tensors in memory are, by unique id.
std::map<int64_t, DnnRef> tensors_of(const DnnDescriptor& graph) {
  std::map<int64_t, DnnRef> tensors;
  for (const DnnRef& operation : graph.attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors)
    for (const auto& [name, attribute] : operation->attributes)
      for (const DnnRef& tensor : attribute.descriptors)
        if (tensor->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && !tensor->get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL))
          tensors[tensor->get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)] = tensor;
  return tensors;
}

/// Empty, or what is wrong with the memory of a plan on `device`.
std::string misplaced(const DnnDescriptor& configuration, const DnnDescriptor& pack, int device,
                      std::map<int64_t, char*>& memory) {
  const DnnRef graph = configuration.at(CUDNN_ATTR_ENGINECFG_ENGINE)->at(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  const auto ids = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.list<char*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  for (size_t i = 0; i < ids.size(); ++i) memory[ids[i]] = pointers[i];
  const auto tensors = tensors_of(*graph);
  for (const auto& [id, pointer] : memory)
    if (!tensors.count(id)) return "the pack has tensor " + std::to_string(id) + ", the graph has not";
  for (const auto& [id, tensor] : tensors) {
    const std::string name = "tensor " + std::to_string(id);
    if (!memory.count(id)) return name + " is not in the pack";
    const auto at = reinterpret_cast<uintptr_t>(memory[id]);
    if (at % static_cast<size_t>(tensor->get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)) != 0)
      return name + " is not aligned to " + std::to_string(tensor->get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)) + " bytes";
    if (device_of(memory[id], extent_bytes(*tensor)) != device) return name + " is not in the device's memory";
  }
  const size_t bytes = workspace_bytes(configuration);
  const char* workspace = pack.get<char*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (bytes == 0) return {};
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return "the workspace is not aligned to 256 bytes";
  if (device_of(workspace, bytes) != device)
    return "the workspace of " + std::to_string(bytes) + " bytes is not in the device's memory";
  for (const auto& [id, tensor] : tensors)
    if (memory[id] < workspace + bytes && workspace < memory[id] + extent_bytes(*tensor))
      return "the workspace and tensor " + std::to_string(id) + " overlap";
  return {};
}

cudnnStatus_t finalize_plan(DnnDescriptor& plan) {
  if (plan.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)) {
    const auto text = plan.list<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    const DnnRef configuration = configuration_of({text.begin(), text.end()});
    if (!configuration) return failed(CUDNN_STATUS_NOT_SUPPORTED, "the plan is of another version or device, or damaged");
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, {configuration});
    ++counts().loaded;
    return CUDNN_STATUS_SUCCESS;
  }
  const DnnRef configuration = plan.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (refuses(name_of(*configuration)))
    return failed(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH, "no kernel of it for this device");
  const std::string text = text_of(configuration);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, std::vector<char>(text.begin(), text.end()));
  ++counts().built;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_heuristics(DnnDescriptor& heuristics) {
  ++counts().heuristics;
  auto found = configurations(heuristics.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH),
                              heuristics.get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE));
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::move(found));
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

DnnObjects& dnn() {
  static auto& made = *new DnnObjects;
  return made;
}

std::chrono::microseconds duration_of(const std::string& configuration) {
  const auto found = told().durations.find(configuration);
  return found == told().durations.end() ? std::chrono::microseconds(1) : found->second;
}
void set_dnn_version(size_t version) { told().version = version; }
size_t dnn_version() { return told().version; }
void refuse_configuration(const std::string& configuration) { told().refused = configuration; }
bool refuses(const std::string& configuration) { return !told().refused.empty() && configuration == told().refused; }
DnnCounts& counts() { return told().counts; }
DnnCounts take_counts() {
  const Lock lock(machine());
  return std::exchange(told().counts, {});
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

size_t cudnnGetVersion() { return dnn_version(); }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS                       ? "CUDNN_STATUS_SUCCESS"
         : status == CUDNN_STATUS_NOT_INITIALIZED             ? "CUDNN_STATUS_NOT_INITIALIZED"
         : status == CUDNN_STATUS_BAD_PARAM                   ? "CUDNN_STATUS_BAD_PARAM"
         : status == CUDNN_STATUS_NOT_SUPPORTED               ? "CUDNN_STATUS_NOT_SUPPORTED"
         : status == CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH ? "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH"
                                                              : "CUDNN_STATUS_OF_SOME_KIND";
}
void cudnnGetLastErrorString(char* words, size_t room) {
  const Lock lock(machine());
  if (room == 0) return;
  std::strncpy(words, told().last_error.c_str(), room);
  words[room - 1] = '\0';
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  const Lock lock(machine());
  if (current_device() < 0) return broken("cudnnCreate: no context is current");
  *handle = reinterpret_cast<cudnnHandle_t>(dnn().handles.make(std::make_shared<DnnHandle>(DnnHandle{current_device()})));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  const Lock lock(machine());
  const auto found = dnn().handles.find(handle, "cudnnDestroy");
  if (!found) return CUDNN_STATUS_BAD_PARAM;
  if (found->device != current_device()) fault("cudnnDestroy: the context of the handle is not current");
  return dnn().handles.destroy(handle, "cudnnDestroy"), CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  const Lock lock(machine());
  const auto found = dnn().handles.find(handle, "cudnnSetStream");
  if (!found || !find_stream(reinterpret_cast<CUstream>(stream), "cudnnSetStream")) return CUDNN_STATUS_BAD_PARAM;
  // The library makes the new stream wait for the old one, and dies if another thread is recording that.
  if (found->stream && found->stream != stream) fault("cudnnSetStream: the handle has a stream already");
  return found->stream = stream, CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  const Lock lock(machine());
  *descriptor = dnn().descriptors.make(std::make_shared<DnnDescriptor>(DnnDescriptor{type}));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  const Lock lock(machine());
  return dnn().descriptors.destroy(descriptor, "cudnnBackendDestroyDescriptor") ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
  const Lock lock(machine());
  const std::string call = "cudnnBackendSetAttribute: ";
  const auto descriptor = find(handle, "cudnnBackendSetAttribute");
  if (!descriptor) return CUDNN_STATUS_BAD_PARAM;
  if (descriptor->final) return broken(call + "the descriptor is finalised");
  if (const std::string why = misfit(*descriptor, name, type, count); !why.empty()) return broken(call + why);
  if (count > 0 && !elements) return broken(call + "elements are null");
  DnnAttribute attribute{type, count};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (int64_t i = 0; i < count; ++i) {
      const auto element = find(static_cast<const cudnnBackendDescriptor_t*>(elements)[i], "cudnnBackendSetAttribute");
      if (!element) return CUDNN_STATUS_BAD_PARAM;
      if (!element->final) return broken(call + "a descriptor that isn't finalised");
      attribute.descriptors.push_back(element);
    }
  } else {
    const char* begin = static_cast<const char*>(elements);
    attribute.bytes.assign(begin, begin + static_cast<size_t>(count) * size_of(type));
  }
  if (type == CUDNN_TYPE_HANDLE &&
      !dnn().handles.find(*static_cast<const cudnnHandle_t*>(elements), "cudnnBackendSetAttribute"))
    return CUDNN_STATUS_BAD_PARAM;
  return descriptor->attributes[name] = std::move(attribute), CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  const Lock lock(machine());
  const auto descriptor = find(handle, "cudnnBackendFinalize");
  if (!descriptor) return CUDNN_STATUS_BAD_PARAM;
  if (descriptor->final) return broken("cudnnBackendFinalize: the descriptor is finalised");
  if (const std::string why = misfit(*descriptor); !why.empty()) return broken("cudnnBackendFinalize: " + why);
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  if (descriptor->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) status = finalize_heuristics(*descriptor);
  if (descriptor->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) status = finalize_plan(*descriptor);
  descriptor->final = status == CUDNN_STATUS_SUCCESS;
  return status;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const handle, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t requested, int64_t* count, void* elements) {
  const Lock lock(machine());
  const std::string call = "cudnnBackendGetAttribute: ";
  const auto descriptor = find(handle, "cudnnBackendGetAttribute");
  if (!descriptor) return CUDNN_STATUS_BAD_PARAM;
  if (!descriptor->final) return broken(call + "the descriptor isn't finalised");
  DnnAttribute computed;
  if (name == CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE || name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    const DnnRef plan = descriptor->at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const auto bytes = static_cast<int64_t>(workspace_bytes(plan ? *plan : *descriptor));
    computed = {CUDNN_TYPE_INT64, 1, std::vector<char>(sizeof bytes)};
    std::memcpy(computed.bytes.data(), &bytes, sizeof bytes);
  } else if (name == CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED) {
    computed = {CUDNN_TYPE_INT32, 1, std::vector<char>(sizeof(int32_t))};
  } else if (const auto found = descriptor->attributes.find(name); found != descriptor->attributes.end()) {
    computed = found->second;
  } else {
    return failed(CUDNN_STATUS_NOT_SUPPORTED, call + "no attribute " + std::to_string(name));
  }
  if (computed.type != type) return broken(call + "attribute " + std::to_string(name) + " has another type");
  if (count) *count = computed.count;
  const int64_t given = std::min(requested, computed.count);
  if (!elements) return CUDNN_STATUS_SUCCESS;
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (given > 0) std::memcpy(elements, computed.bytes.data(), static_cast<size_t>(given) * size_of(type));
    return CUDNN_STATUS_SUCCESS;
  }
  for (int64_t i = 0; i < given; ++i) {
    const auto target = find(static_cast<cudnnBackendDescriptor_t*>(elements)[i], "cudnnBackendGetAttribute");
    if (!target) return CUDNN_STATUS_BAD_PARAM;
    const DnnDescriptor& source = *computed.descriptors[static_cast<size_t>(i)];
    if (target->type != source.type) return broken(call + "a descriptor of another type to write to");
    *target = source;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                                  cudnnBackendDescriptor_t pack_handle) {
  const Lock lock(machine());
  const std::string call = "cudnnBackendExecute: ";
  const auto found = dnn().handles.find(handle, "cudnnBackendExecute");
  const auto plan = find(plan_handle, "cudnnBackendExecute"), pack = find(pack_handle, "cudnnBackendExecute");
  if (!found || !plan || !pack) return CUDNN_STATUS_BAD_PARAM;
  if (!plan->final || !pack->final) return broken(call + "the plan or the pack isn't finalised");
  if (plan->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || pack->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return broken(call + "wants a plan and a pack");
  const auto stream = find_stream(reinterpret_cast<CUstream>(found->stream), "cudnnBackendExecute");
  if (!stream) return CUDNN_STATUS_BAD_PARAM;
  if (stream->device != found->device || found->device != current_device())
    return broken(call + "handle, stream and current context are of different devices");
  const DnnRef configuration = plan->at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  std::map<int64_t, char*> memory;
  if (const std::string why = misplaced(*configuration, *pack, found->device, memory); !why.empty()) return broken(call + why);
  ++counts().executed;
  const auto duration = duration_of(name_of(*configuration));
  put(*stream, [configuration, memory, duration, device = found->device] {
    clock_of(device) += duration;
    return compute(*configuration, memory), true;
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
