// cuDNN on one device: makes plans of graphs and enqueues them.
#pragma once

#include "runtime/cuda/own_launch.h"
#include "runtime/cuda/vendor/cudnn_graph.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct cudnnContext;

namespace sheaf::cuda {

/// The engines a plan may use.
struct EngineChoice {
  bool fast_numerics = false;  ///< f32: tensor cores (TF32); any: Winograd, FFT
  bool deterministic = true;   ///< none whose sums depend on the order of threads
  bool compiled = true;        ///< including those whose kernels are compiled when the plan is made, which takes a second
  bool candidates = false;     ///< CudnnPlan::candidates() is asked for
  std::string wanted = {};     ///< one of the candidates: it is taken if its plan can be made
};

/// A graph for which cuDNN has an engine, configured and compiled. Any number of threads may use it.
class CudnnPlan {
 public:
  virtual ~CudnnPlan() = default;
  virtual size_t workspace_bytes() const = 0;
  /// "engine 35"
  virtual std::string engine() const = 0;
  /// The engine with its settings: "eng35_k2=1_k3=0". Empty if it is unknown.
  virtual const std::string& name() const = 0;
  /// Where EngineChoice::candidates asks for them: names of configurations to measure, itself among them, in the order of the heuristics.
  virtual const std::vector<std::string>& candidates() const = 0;
  /// The engine that EngineChoice::deterministic left out although the heuristics preferred it: "engine 20". Or empty.
  virtual std::string left_out() const = 0;
  /// Why the engine and workspace of a plan made without the device are unknown; empty: they are known.
  virtual std::string unknown() const { return {}; }
};

/// A handle of cuDNN's that has one stream for as long as it lives. One handle for several streams would do harm: cudnnSetStream()
/// makes the new stream wait for the old one, which another thread may be recording. Used by one thread at a time, as the
/// stream is.
struct CudnnStream {
  Stream stream = nullptr;
  cudnnContext* handle = nullptr;
};

class Cudnn {
 public:
  /// For `device` of the driver, which outlives it; that device is current on this thread afterwards. Errors: cuDNN is missing, is
  /// too old, or rejects the device.
  static Result<std::shared_ptr<Cudnn>> open(Driver& driver, int device);
  /// For a device of these properties (JSON as cuDNN's frontend serialises them), which may be absent: plans can be made, not
  /// run. If cuDNN makes none without a driver, this is as without_engines(). Errors: cuDNN is missing, or too old.
  static Result<std::shared_ptr<Cudnn>> open_planning(const std::string& properties, int sm);
  /// Every graph has a plan, whose engine is left open and which has no workspace. `why`: the value of no_engines().
  static std::shared_ptr<Cudnn> without_engines(std::string why);
  /// Why it chooses no engines; empty if it does.
  const std::string& no_engines() const { return no_engines_; }
  ~Cudnn();

  /// The heuristics' first engine that `choice` allows and that builds. Plans of equal graphs are shared, and so are refusals.
  /// Error: there is none, in cuDNN's words.
  Result<std::shared_ptr<CudnnPlan>> plan(const CudnnGraph& graph, const EngineChoice& choice);

  /// Everything that an engine's speed and a plan depend on, but the graph: "NVIDIA H200, sm_90, cuDNN 9.19.0, CUDA driver 13.0". Empty
  /// when only planning.
  const std::string& machine() const { return machine_; }
  /// A graph and what its engines may do, without EngineChoice::wanted.
  static std::string key(const CudnnGraph& graph, const EngineChoice& choice);

  /// Leaves the handles to the process (Library::abandon()).
  void abandon() { handle_ = nullptr; }
  /// Makes plans and descriptors, and has no stream; null when only planning.
  cudnnContext* handle() const { return handle_; }
  /// The handle that enqueues into this stream. The first call makes it, which allocates; the device is current afterwards.
  /// Once nobody holds it any more, a later plan() destroys it.
  Result<std::shared_ptr<const CudnnStream>> on(Stream stream);
  /// "9.19.0"
  static std::string version();

 private:
  struct Device;
  Cudnn();
  void destroy_unused_streams();

  Result<std::shared_ptr<CudnnPlan>> make(const CudnnGraph& graph, const EngineChoice& choice);
  /// As it was kept by an earlier process. An error: it wasn't, or cuDNN doesn't take it.
  Result<std::shared_ptr<CudnnPlan>> load_kept(const CudnnGraph& graph, const std::string& key);

  cudnnContext* handle_ = nullptr;
  Driver* driver_ = nullptr;  ///< of the handle
  int ordinal_ = 0;
  std::string machine_, no_engines_;
  std::unique_ptr<Device> device_;
  std::mutex planning_, opening_;
  std::map<std::string, Result<std::shared_ptr<CudnnPlan>>> plans_;
  std::vector<std::shared_ptr<const CudnnStream>> streams_;
};

/// A plan with its buffers, ready to be launched again and again. Used by one thread at a time.
class CudnnCall {
 public:
  /// `places`: by tensor of the graph; entries of intermediates are ignored.
  CudnnCall(std::shared_ptr<Cudnn> cudnn, std::shared_ptr<CudnnPlan> plan, std::vector<MemoryRef> places, MemoryRef workspace);
  CudnnCall(CudnnCall&&) noexcept;
  ~CudnnCall();

  /// The device's context is current. Allocates only if the stream or the buffers aren't those of the last call.
  Result<void> enqueue(const Enqueue& at);

 private:
  struct Pack;
  std::shared_ptr<Cudnn> cudnn_;
  std::shared_ptr<const CudnnStream> on_;  ///< of the last call
  std::shared_ptr<CudnnPlan> plan_;
  std::vector<void*> pointers_;                       ///< as cuDNN wants them
  std::vector<std::pair<size_t, MemoryRef>> places_;  ///< index among the pointers of its address
  MemoryRef workspace_;
  std::unique_ptr<Pack> pack_;
  void* packed_workspace_ = nullptr;
};

}  // namespace sheaf::cuda
