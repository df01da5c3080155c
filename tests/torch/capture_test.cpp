#include "given.hpp"

#include <algorithm>
#include <map>

using namespace kvedit;
using Catch::Contains;
using kvedit::torch::CaptureInput;

namespace {

/// All that is not found in the tensors.
RegistrationData facts_of(const RegistrationData& data) {
  RegistrationData facts = data;
  facts.storages.clear();
  facts.caches.clear();
  for (Placement& placement : facts.placements) placement.storage.clear();
  return facts;
}

std::string captured_name(std::size_t index) {
  std::string name = "s";
  name += std::to_string(index);
  return name;
}

/// With storages named as `capture` does, in the order in which the caches name them.
RegistrationData with_captured_names(RegistrationData data) {
  std::map<std::string, std::string> names;
  for (Cache& cache : data.caches)
    for (Tensor& tensor : cache.tensors)
      tensor.storage =
          names.try_emplace(tensor.storage, captured_name(names.size())).first->second;
  std::erase_if(data.storages, [&](const Storage& each) { return !names.contains(each.name); });
  for (Storage& storage : data.storages) storage.name = names.at(storage.name);
  for (Placement& placement : data.placements) placement.storage = names.at(placement.storage);
  std::sort(data.storages.begin(), data.storages.end(), [](const Storage& a, const Storage& b) {
    return std::pair(a.name.size(), a.name) < std::pair(b.name.size(), b.name);
  });
  return data;
}

bool all_dtypes_known(const RegistrationData& data) {
  return std::ranges::all_of(data.caches, [](const Cache& cache) {
    return std::ranges::all_of(cache.tensors, [](const Tensor& tensor) {
      return kvedit::torch::scalar_type(tensor.dtype).has_value();
    });
  });
}

}  // namespace

TEST_CASE("a captured registration gives the report of the given one") {
  int captured = 0;
  for (const std::string& name : served_registrations()) {
    INFO(name);
    const Given given(name);
    if (!all_dtypes_known(given.registration.data())) continue;
    const Expected<Registration> live =
        kvedit::torch::capture({facts_of(given.registration.data()), given.memory.tensors()});
    REQUIRE(live);
    const Registration expected(with_captured_names(given.registration.data()));
    CHECK(live->data().caches.size() == expected.data().caches.size());
    for (std::size_t i = 0; i < expected.data().caches.size(); ++i) {
      CHECK((live->data().caches[i].tensors == expected.data().caches[i].tensors));
      CHECK(live->data().caches[i].is_list == expected.data().caches[i].is_list);
    }
    REQUIRE(live->data().storages.size() == expected.data().storages.size());
    for (std::size_t i = 0; i < expected.data().storages.size(); ++i) {
      CHECK(live->data().storages[i].name == expected.data().storages[i].name);
      CHECK(live->data().storages[i].nbytes == expected.data().storages[i].nbytes);
      CHECK(live->data().storages[i].device == "cpu");
    }
    CHECK(write_report(standard_host().edit(*live)) ==
          write_report(standard_host().edit(expected)));
    ++captured;
  }
  CHECK(captured > 30);
}

TEST_CASE("views of a captured registration are made over the tensors it was captured from") {
  const Given given("jamba-mini-flashinfer");
  const Expected<Registration> live =
      kvedit::torch::capture({facts_of(given.registration.data()), given.memory.tensors()});
  REQUIRE(live);
  CHECK(kvedit::torch::make_views(standard_host().edit(*live), given.memory.tensors()));
}

TEST_CASE("capture refuses what it would have to guess") {
  const Given given("llama-lhbnc");
  const RegistrationData facts = facts_of(given.registration.data());

  CHECK_THAT(kvedit::torch::capture({given.registration.data(), {}}).error().text(),
             Contains("1 storages and 8 caches"));

  CaptureInput no_tensors{facts, {}};
  CHECK_THAT(kvedit::torch::capture(no_tensors).error().text(),
             Contains("placement 0") && Contains("none of its 8 layers"));

  CaptureInput undefined{facts, given.memory.tensors()};
  undefined.tensors[2].tensors[0] = {};
  CHECK_THAT(kvedit::torch::capture(undefined).error().text(),
             Contains(undefined.tensors[2].layer) && Contains("undefined"));
}
