#include <c10/core/ScalarType.h>

#include <iostream>

#include <kvedit/torch.hpp>

int main() {
  const kvedit::DType dtype = kvedit::torch::dtype_of(at::ScalarType::BFloat16);
  const auto back = kvedit::torch::scalar_type(dtype);
  const bool same = back && *back == at::ScalarType::BFloat16;
  std::cout << (same ? "ok" : "not the same dtype") << '\n';
  return same ? 0 : 1;
}
