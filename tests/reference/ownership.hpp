#pragma once

#include <vector>

#include "reference/reading.hpp"

namespace kvedit::reference {

/// Whether each block owns a window of one page from its lowest byte on.
bool owns_window(const Subject& subject, const Reading& reading);

/// @param window  what `owns_window` says
std::vector<Bytes> owned_bytes(const Subject& subject, const Reading& reading, bool window);
std::vector<Bytes> payload_bytes(const Subject& subject, const Reading& reading, bool window);

/// Whether every block starts where the placement says; true without one.
bool starts_as_placed(const Subject& subject, const Reading& reading);

/// Whether all bytes lie in their storages.
bool inside_storages(const RegistrationData& data, const std::vector<Bytes>& blocks);

}  // namespace kvedit::reference
