#pragma once

#include <boost/dll/shared_library.hpp>
#include <kvedit/error.hpp>

#include "packs/descriptor.hpp"
#include "packs/load.hpp"

namespace kvedit {

/// Calls the pack's entry and checks what it gives. May throw what the pack throws.
Expected<PackTables> shake_hands(const boost::dll::shared_library& library,
                                 const PackDescriptor& descriptor);

}  // namespace kvedit
