#pragma once

#include <array>
#include <set>
#include <string>

#include <kvedit/host.hpp>
#include <kvedit/json.hpp>

#include "files.hpp"
#include "spans.hpp"

namespace kvedit::golden {

/// A host with the standard rules, nothing else.
const Host& standard_host();

RegistrationData given_registration(const std::string& name);

/// First, second, middle and last block.
std::array<std::int64_t, 4> some_blocks(std::int64_t blocks);

/// What block `block` of the layer owns, from what it is expected to own as block 0.
Spans expected_owned(const ExpectedLayer& layer, std::int64_t block, const RegistrationData& data);

std::set<std::string> error_codes(const Result& result);

/// All problems, a line each.
std::string problems_of(const Result& result);

}  // namespace kvedit::golden
