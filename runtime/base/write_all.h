#pragma once

#include <string_view>

namespace sheaf {

/// Writes all of `bytes`. False if that fails, with the reason in errno.
bool write_all(int descriptor, std::string_view bytes);

}  // namespace sheaf
