// How devices of a world's processes exchange data among themselves, past their hosts' memories (NCCL between GPUs).
#pragma once

#include "runtime/device/operation.h"

#include <memory>
#include <string>

namespace sheaf {

/// Who a device is for the other processes of a world.
struct LinkIdentity {
  std::string device;   ///< another for every device, on whatever machine: "GPU-8f2c…"
  std::string library;  ///< what would move the data, with its version: "NCCL 2.28.9"
};

/// This process's member among devices of all ranks, one of each. Its operations are that device's, for its queues. One is done when
/// both sides have come to it; all messages from one rank to another are in one order, the same on both.
class RankLink {
 public:
  virtual ~RankLink() = default;
  /// `what`: the message, as errors call it; the same on both sides.
  virtual std::unique_ptr<Executable> send(int to, size_t bytes, const std::string& what) = 0;
  virtual std::unique_ptr<Executable> receive(int from, size_t bytes, const std::string& what) = 0;
};

/// How messages go from a device's memory to that of another rank's device.
struct Transport {
  bool direct = false;             ///< from device to device; otherwise through their hosts' memories
  std::string library;             ///< if direct: LinkIdentity::library, or, if it is only planned for, without a version
  std::string why_not;             ///< if not, though some rank has a device with a memory of its own: the reason
  std::shared_ptr<RankLink> link;  ///< this process's; null: bindings are only planned
};

/// "from device to device, by NCCL"; empty if all devices share their hosts' memories.
inline std::string to_string(const Transport& transport) {
  if (transport.direct) return "from device to device, by " + transport.library;
  return transport.why_not.empty() ? "" : "through their hosts' memories: " + transport.why_not;
}

}  // namespace sheaf
