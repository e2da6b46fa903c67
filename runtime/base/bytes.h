// Numbers that are stored as bytes, such as pictures'.
#pragma once

#include <cstddef>
#include <vector>

namespace sheaf {

/// What bytes stand for: for each channel of a tensor, the index of its second dimension, 256 numbers; or 256 for all of it. At
/// most kMostByteChannels channels: a picture's.
using ByteNumbers = std::vector<float>;
inline constexpr size_t kMostByteChannels = 3;

}  // namespace sheaf
