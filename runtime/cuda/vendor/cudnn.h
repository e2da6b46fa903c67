// cuDNN on one device: plans of graphs, and putting them into streams.
#pragma once

#include "runtime/cuda/own_launch.h"
#include "runtime/cuda/vendor/cudnn_graph.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

struct cudnnContext;

namespace sheaf::cuda {

/// Which engines a plan may use.
struct EngineChoice {
  bool fast_numerics = false;  ///< f32: tensor cores (TF32); any: Winograd, FFT
  bool deterministic = true;   ///< none whose sums depend on the order of threads
  bool compiled = true;        ///< also those whose kernels are compiled when the plan is made, which takes a second
};

/// A graph for which cuDNN has an engine, configured and compiled. Used by any number of threads.
class CudnnPlan {
 public:
  virtual ~CudnnPlan() = default;
  virtual size_t workspace_bytes() const = 0;
  /// "engine 35"
  virtual std::string engine() const = 0;
  /// What EngineChoice::deterministic left out although the heuristics put it before the engine: "engine 20". Or empty.
  virtual std::string left_out() const = 0;
  /// Why neither engine nor workspace is known, of a plan that is made without the device; empty: they are.
  virtual std::string unknown() const { return {}; }
};

class Cudnn {
 public:
  /// Of the device whose context is current; `sm`: its compute capability, 90. Errors: cuDNN is not there, is too old, or
  /// refuses the device.
  static Result<std::shared_ptr<Cudnn>> open(int sm);
  /// For a device of these properties (JSON as cuDNN's frontend serialises them), which need not be there: plans can be made,
  /// not run. Where cuDNN makes none without a driver, it is as without_engines(). Errors: cuDNN is not there, or too old.
  static Result<std::shared_ptr<Cudnn>> open_planning(const std::string& properties, int sm);
  /// Every graph has a plan, whose engine is left open and has no workspace. `why`: what no_engines() says.
  static std::shared_ptr<Cudnn> without_engines(std::string why);
  /// Why it chooses no engines; empty: it does.
  const std::string& no_engines() const { return no_engines_; }
  ~Cudnn();

  /// The heuristics' first engine that `choice` allows and that builds. Plans of equal graphs are shared, refusals too. Error:
  /// there is none, in cuDNN's words.
  Result<std::shared_ptr<CudnnPlan>> plan(const CudnnGraph& graph, const EngineChoice& choice);

  /// Leaves the handle to the process (Library::abandon()).
  void abandon() { handle_ = nullptr; }
  cudnnContext* handle() const { return handle_; }  ///< null where only planning
  /// Held while the handle's stream is set and used.
  std::mutex& using_handle() { return using_handle_; }
  /// "9.19.0"
  static std::string version();

 private:
  struct Device;
  Cudnn();

  Result<std::shared_ptr<CudnnPlan>> make(const CudnnGraph& graph, const EngineChoice& choice);

  cudnnContext* handle_ = nullptr;
  std::string no_engines_;
  std::unique_ptr<Device> device_;
  std::mutex using_handle_, planning_;
  std::map<std::string, Result<std::shared_ptr<CudnnPlan>>> plans_;
};

/// A plan with its buffers, ready to be launched again and again. Used by one thread at a time.
class CudnnCall {
 public:
  /// `places`: by tensor of the graph; those of intermediates are not looked at.
  CudnnCall(std::shared_ptr<Cudnn> cudnn, std::shared_ptr<CudnnPlan> plan, std::vector<MemoryRef> places, MemoryRef workspace);
  CudnnCall(CudnnCall&&) noexcept;
  ~CudnnCall();

  /// The device's context is current. Allocates where the buffers have moved since the last call, otherwise not.
  Result<void> enqueue(const Enqueue& at);

 private:
  struct Pack;
  std::shared_ptr<Cudnn> cudnn_;
  std::shared_ptr<CudnnPlan> plan_;
  std::vector<void*> pointers_;                       ///< as cuDNN wants them
  std::vector<std::pair<size_t, MemoryRef>> places_;  ///< index among the pointers, where it lies
  MemoryRef workspace_;
  std::unique_ptr<Pack> pack_;
  void* packed_workspace_ = nullptr;
};

}  // namespace sheaf::cuda
