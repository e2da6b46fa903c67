#pragma once

#include <filesystem>
#include <system_error>

namespace sheaf {

/// The folder of the running program's file, links followed; empty if it isn't known, and then `unknown` says why.
std::filesystem::path program_folder(std::error_code& unknown);

}  // namespace sheaf
