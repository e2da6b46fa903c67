// What the files of the stand-in cuDNN share, and what tests tell it.
#pragma once

#include "tests/cuda/stand_in/machine.h"

#include <cudnn.h>

#include <chrono>
#include <cstring>

namespace stand_in {

struct DnnDescriptor;
using DnnRef = std::shared_ptr<const DnnDescriptor>;

/// As it was set: its elements' bytes, or descriptors.
struct DnnAttribute {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_CHAR;
  int64_t count = 0;
  std::vector<char> bytes = {};
  std::vector<DnnRef> descriptors = {};
};

struct DnnDescriptor {
  cudnnBackendDescriptorType_t type;
  bool final = false;
  std::map<cudnnBackendAttributeName_t, DnnAttribute> attributes = {};

  bool has(cudnnBackendAttributeName_t name) const { return attributes.count(name) != 0; }
  template <typename T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    std::vector<T> values(found->second.bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), found->second.bytes.data(), values.size() * sizeof(T));
    return values;
  }
  template <typename T>
  T get(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    const auto found = attributes.find(name);
    if (found != attributes.end() && found->second.bytes.size() >= sizeof(T))
      std::memcpy(&otherwise, found->second.bytes.data(), sizeof(T));
    return otherwise;
  }
  /// Null: there is none.
  DnnRef at(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() || found->second.descriptors.empty() ? nullptr : found->second.descriptors.front();
  }
  template <typename T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t as, const std::vector<T>& values) {
    DnnAttribute made{as, static_cast<int64_t>(values.size()), std::vector<char>(values.size() * sizeof(T))};
    if (!values.empty()) std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
    attributes[name] = std::move(made);
  }
  void set(cudnnBackendAttributeName_t name, std::vector<DnnRef> values) {
    attributes[name] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(values.size()), {}, std::move(values)};
  }
};

struct DnnHandle {
  int device = 0;
  cudaStream_t stream = nullptr;
};

struct DnnObjects {
  Handles<DnnHandle> handles{"cudnnHandle"};
  Handles<DnnDescriptor> descriptors{"cudnnBackendDescriptor"};
};
DnnObjects& dnn();

/// Zero: the attribute has no such type.
size_t size_of(cudnnBackendAttributeType_t type);

// cudnn_rules.cpp

/// Empty, or why the descriptor can't be set to that.
std::string misfit(const DnnDescriptor& descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   int64_t count);
/// Empty, or why it isn't complete or whole.
std::string misfit(const DnnDescriptor& descriptor);
size_t bytes_of(cudnnDataType_t type);
/// From a tensor's first element to behind its last.
size_t extent_bytes(const DnnDescriptor& tensor);

// cudnn_engines.cpp

/// An engine with its choices for a graph: ENGINECFG descriptors in the order of the heuristics.
std::vector<DnnRef> configurations(const DnnRef& graph, cudnnBackendHeurMode_t mode);
size_t workspace_bytes(const DnnDescriptor& configuration);
/// "eng41_k2=1".
std::string name_of(const DnnDescriptor& configuration);
/// The plan of a configuration as text, and back; null: not of this version and kind of device, or not whole.
std::string text_of(const DnnRef& configuration);
DnnRef configuration_of(const std::string& text);

// cudnn_graph.cpp

/// Computes a configuration's graph on memory by unique id. Sums are of f32; of an odd last choice backwards. Tensor cores round
/// f32 to TF32.
void compute(const DnnDescriptor& configuration, const std::map<int64_t, char*>& memory);

// What tests tell it, and ask. Another process gets it from the environment: STAND_IN_CUDNN_DURATIONS (eng41_k2=1:20000,…, in
// microseconds), STAND_IN_CUDNN_VERSION, STAND_IN_CUDNN_FORGETS (no plan's text is taken); and writes what it counted as JSON to the
// file STAND_IN_CUDNN_COUNTS when it ends.

/// cudnnGetVersion(): 91900 at first.
void set_dnn_version(size_t version);
size_t dnn_version();
/// Makes building of this configuration's plans fail; "": of none.
void refuse_configuration(const std::string& configuration);
/// Since the last call.
struct DnnCounts {
  int heuristics = 0, built = 0, loaded = 0, executed = 0;
};
DnnCounts take_counts();
DnnCounts& counts();
/// How long work of this configuration ("eng41_k2=1") takes on its device's clock; 1 µs unless told.
std::chrono::microseconds duration_of(const std::string& configuration);
bool refuses(const std::string& configuration);

}  // namespace stand_in
