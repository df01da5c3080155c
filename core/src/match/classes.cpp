#include "match/classes.hpp"

namespace kvedit::match {

std::int32_t Classes::classify(const ClassKey& key, std::int32_t next) {
  if (last_class_ >= 0 && key == last_) return last_class_;
  last_ = key;
  return last_class_ = known_.emplace(key, next).first->second;
}

}  // namespace kvedit::match
