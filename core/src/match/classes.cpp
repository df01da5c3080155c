#include "match/classes.hpp"

namespace kvedit::match {

std::int32_t Classes::classify(const ClassKey& key, std::int32_t next) {
  return known_.emplace(key, next).first->second;
}

}  // namespace kvedit::match
