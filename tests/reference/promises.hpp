#pragma once

#include <string>
#include <vector>

#include <kvedit/host.hpp>
#include <kvedit/registration.hpp>
#include <kvedit/result.hpp>

/// What holds of every result, whatever the registration: nothing here knows how a layout is read.
namespace kvedit::reference {

/// Of one result: problems are complete and agree with `ok`; nothing is shown when it is not ok;
/// otherwise, for every layer and block: payload ⊆ bytes of the views ⊆ owned, no byte twice,
/// nothing outside its storage, aligned, as many entries as blocks, block bytes and address lists
/// that agree with the page map; within a group every owned byte has one layer and one block.
/// @param most  runs of a layer, and blocks, that are looked at; of a larger one fewer things are
std::vector<std::string> broken_promises(const Result& result, std::size_t most = 4096);

/// Of one registration: the promises above in every profile, and pages that do not depend on it.
/// @param native  the result of the default options
std::vector<std::string> broken_promises(const Host& host, const Result& native,
                                         std::size_t most = 4096);

/// Of texts: what was written is read as the same, and gives the same report, byte for byte.
std::vector<std::string> broken_texts(const Host& host, const Result& native);

}  // namespace kvedit::reference
