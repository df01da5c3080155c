#pragma once

#include <string>
#include <string_view>

#include <kvedit/registration.hpp>

namespace kvedit {

/// Whether the attention backend (a class with its modules, or its name) orders tokens, K and V
/// inside a head's page by its own, so that the shape says where the heads lie and no more.
/// vLLM's CPU backend is one: vllm/v1/attention/backends/cpu_attn.py views a page of a head as all K,
/// then all V, and csrc/cpu/cpu_attn_impl.hpp packs either for the instructions of the machine.
bool has_private_order(std::string_view backend);

/// The same of a layer, where the registration names its backend.
bool has_private_order(const RegistrationData& data, const std::string& layer);

}  // namespace kvedit
