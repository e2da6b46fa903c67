// How sizes and names are written for people, the same in every picture.
#pragma once

#include "runtime/base/printable.h"
#include "tools/inspect/graph.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// "f32", "i64", "u8", "bf16", …
std::string_view short_name(DType dtype);

/// "256×64×28×28", "batch×5", "scalar".
std::string shape_text(const std::vector<Extent>& shape);

/// "600 B", "51.4 MB" (decimal units, one decimal place), "200.7 kB*batch", "48 B*replicas - 48 B"; "?" if there is none.
std::string bytes_text(const std::optional<Extent>& bytes);

/// "15,15"; with more than eight chunks, equal ones are counted: "4 (7 times), 2".
std::string chunks_text(const std::vector<int64_t>& chunks);

/// "30×5 f32".
std::string tensor_text(const PlacementTensor& tensor);

/// Terminal columns of a UTF-8 text (combining and wide characters aside).
size_t width_of(std::string_view text);

/// The last component of a dotted layer name: "conv1" of "net.module.0.conv1".
std::string_view last_component(std::string_view layer);

/// The dotted name without its last component; empty for a top-level layer.
std::string_view group_of(std::string_view layer);

/// "batch 9", "batch 9 in 4 shards".
std::string batch_text(int64_t batch, int shards);

}  // namespace sheaf
