#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kvedit/error.hpp>
#include <kvedit/registration.hpp>

#include "json/document.hpp"

namespace kvedit {

/// Fills the structs; what comes after the first failure is skipped.
class RegistrationReader {
 public:
  Expected<RegistrationData> read_document(const Item& root);

 private:
  bool ok() const { return !failure_; }
  void fail(std::string where, std::string message) {
    if (ok()) failure_ = Error{std::move(where), std::move(message)};
  }
  void fail_missing(const Item& object, std::string_view name);
  bool expect(const Item& item, Item::Type type, std::string_view wanted);

  template <class T>
  void required(const Item& object, std::string_view name, T& out) {
    if (!ok()) return;
    const auto item = object.find(name);
    item ? read(*item, out) : fail_missing(object, name);
  }
  template <class T>
  void optional(const Item& object, std::string_view name, T& out) {
    if (!ok()) return;
    if (const auto item = object.find(name); item && item->type() != Item::Type::null)
      read(*item, out);
  }

  void read(const Item& item, std::int64_t& out);
  void read(const Item& item, bool& out);
  void read(const Item& item, std::string& out);
  void read(const Item& item, std::optional<std::int64_t>& out) { read(item, out.emplace()); }
  template <class T>
  void read(const Item& item, std::vector<T>& out);
  void read(const Item& item, RegistrationData& out);
  void read(const Item& item, Parallel& out);
  void read(const Item& item, Group& out);
  void read(const Item& item, Spec& out);
  void read(const Item& item, Placement& out);
  void read(const Item& item, Tensor& out);
  void read(const Item& item, std::vector<Storage>& out);
  void read(const Item& item, std::vector<Cache>& out);
  template <class T>
  void read(const Item& item, std::map<std::string, T>& out);

  void read_engine(const Item& root, RegistrationData& out);
  void read_layout(const Item& root, RegistrationData& out);
  void read_dtype(const Item& tensor, DType& out);
  void check_leaves(const Item& item, const Group& group);

  std::optional<Error> failure_;
};

template <class T>
void RegistrationReader::read(const Item& item, std::vector<T>& out) {
  if (!expect(item, Item::Type::array, "an array")) return;
  out.reserve(item.size());
  item.each_element([&](const Item& each) { return read(each, out.emplace_back()), ok(); });
}

template <class T>
void RegistrationReader::read(const Item& item, std::map<std::string, T>& out) {
  if (!expect(item, Item::Type::object, "an object")) return;
  item.each_member([&](std::string_view key, const Item& each) {
    read(each, out[std::string(key)]);
    return ok();
  });
}

}  // namespace kvedit
