#pragma once

#include <cstdint>

#include "abi/answer_memory.hpp"
#include "model/rule.hpp"

namespace kvedit {

/// Turns what a pack wrote into an answer. Anything that breaks the rules of the boundary becomes
/// `Verdict::error` with a reason that says which number is wrong.
/// @param status   what the call returned
/// @param tensors  of the layer that was asked about
Answer read_answer(const AnswerMemory& memory, std::int32_t status, std::uint64_t tensors);

Answer error_answer(std::string reason);

}  // namespace kvedit
