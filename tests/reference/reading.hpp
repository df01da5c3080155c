#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <kvedit/problem.hpp>
#include <kvedit/registration.hpp>

#include "reference/memory.hpp"

namespace kvedit::reference {

/// Where a placement puts one layer.
struct Place {
  std::int32_t storage = -1;
  Wide start = 0;  ///< of block 0
  Wide block_stride = 0;
};

/// One layer as the definition sees it; its tensors have no fault.
struct Subject {
  const RegistrationData* data = nullptr;
  const Spec* spec = nullptr;
  const std::vector<Tensor>* tensors = nullptr;
  std::int64_t blocks = 0;
  std::optional<Place> place;
};

/// Which axis of each tensor carries the blocks, how many entries make one, and their bytes.
struct Reading {
  std::vector<std::size_t> axes;
  std::int64_t k = 0;
  std::vector<Bytes> raw;  ///< by block
  bool twice = false;      ///< a byte of a block is addressed twice
};

struct ReadingTruth {
  std::optional<Reading> reading;
  bool any_k = false;         ///< other axes give the same bytes with another k
  bool undetermined = false;  ///< the text does not decide
  bool rivals = false;  ///< the two outermost axes make up pages, and the shape has them turned
  bool may_refuse = false;
  std::set<Code> codes;
  std::string why;
};

ReadingTruth find_reading(const Subject& subject);

}  // namespace kvedit::reference
