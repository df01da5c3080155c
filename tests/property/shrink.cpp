#include "shrink.hpp"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <kvedit/json.hpp>

namespace kvedit::property {
namespace {

/// Collects registrations that differ from one in a single place.
class Simpler {
 public:
  explicit Simpler(const RegistrationData& data) : data_(data) {}

  std::vector<RegistrationData> all() {
    drop_each(&RegistrationData::groups);
    for (std::size_t g = 0; g < data_.groups.size(); ++g) layers(g);
    drop_each(&RegistrationData::placements);
    drop_each(&RegistrationData::caches);
    drop_each(&RegistrationData::storages);
    for (std::size_t c = 0; c < data_.caches.size(); ++c) tensors(c);
    for (std::size_t g = 0; g < data_.groups.size(); ++g) group(g);
    for (std::size_t p = 0; p < data_.placements.size(); ++p) placement(p);
    for (std::size_t s = 0; s < data_.storages.size(); ++s)
      number([s](RegistrationData& d) -> std::int64_t& { return d.storages[s].nbytes; }, 1);
    number([](RegistrationData& d) -> std::int64_t& { return d.num_blocks; }, 1);
    number([](RegistrationData& d) -> std::int64_t& { return d.parallel.dcp; }, 1);
    if (!data_.layout.empty()) add([](RegistrationData& d) { d.layout.clear(); });
    return std::move(found_);
  }

 private:
  template <class Change>
  void add(Change change) {
    change(found_.emplace_back(data_));
  }

  template <class Item>
  void drop_each(std::vector<Item> RegistrationData::*items) {
    for (std::size_t i = 0; i < (data_.*items).size(); ++i)
      add([&](RegistrationData& d) {
        (d.*items).erase((d.*items).begin() + static_cast<std::ptrdiff_t>(i));
      });
  }

  template <class Get>
  void number(Get get, std::int64_t least) {
    RegistrationData now = data_;
    const std::int64_t value = get(now);
    for (const std::int64_t next : {least, value / 2, value - 1})
      if (next >= least && next < value) add([&](RegistrationData& d) { get(d) = next; });
  }

  /// A layer less, with what is registered for it.
  void layers(std::size_t g) {
    for (std::size_t l = 0; l < data_.groups[g].layers.size(); ++l)
      add([&](RegistrationData& d) {
        const std::string name = d.groups[g].layers[l];
        d.groups[g].layers.erase(d.groups[g].layers.begin() + static_cast<std::ptrdiff_t>(l));
        d.groups[g].layer_specs.erase(name);
        std::erase_if(d.caches, [&](const Cache& cache) { return cache.layer == name; });
      });
  }

  void group(std::size_t g) {
    const Group& now = data_.groups[g];
    if (now.num_blocks) add([g](RegistrationData& d) { d.groups[g].num_blocks.reset(); });
    if (!now.enable_kv_transfer)
      add([g](RegistrationData& d) { d.groups[g].enable_kv_transfer = true; });
    if (now.host_resident) add([g](RegistrationData& d) { d.groups[g].host_resident = false; });
    spec(now.spec, [g](RegistrationData& d) -> Spec& { return d.groups[g].spec; });
    for (const auto& [name, leaf] : now.layer_specs)
      spec(leaf, [g, name = name](RegistrationData& d) -> Spec& {
        return d.groups[g].layer_specs.at(name);
      });
  }

  template <class Get>
  void spec(const Spec& now, Get get) {
    for (std::size_t i = 0; i < now.attributes.size(); ++i) {
      std::vector<Attribute> fewer(now.attributes.begin(), now.attributes.end());
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      with(now, std::move(fewer), get);
      if (now.attributes[i].value.kind != Value::Kind::integer) continue;
      const std::int64_t value = now.attributes[i].value.integer;
      for (const std::int64_t next : {std::int64_t{1}, value / 2, value - 1})
        if (next >= 1 && next < value) {
          std::vector<Attribute> changed(now.attributes.begin(), now.attributes.end());
          changed[i].value = Value::of(next);
          with(now, std::move(changed), get);
        }
    }
  }

  template <class Get>
  void with(const Spec& now, std::vector<Attribute> attributes, Get get) {
    std::erase_if(attributes, [](const Attribute& each) {
      return each.name == "type" || each.name == "bases";
    });
    Expected<Spec> made = make_spec(now.type, now.bases, std::move(attributes));
    if (made) add([&](RegistrationData& d) { get(d) = *made; });
  }

  void placement(std::size_t p) {
    for (std::int64_t Placement::*const field :
         {&Placement::offset, &Placement::layer_stride, &Placement::block_stride})
      number([=](RegistrationData& d) -> std::int64_t& { return d.placements[p].*field; }, 0);
  }

  void tensors(std::size_t c) {
    for (std::size_t t = 0; t < data_.caches[c].tensors.size(); ++t) {
      const auto of = [=](RegistrationData& d) -> Tensor& { return d.caches[c].tensors[t]; };
      if (data_.caches[c].tensors.size() > 1)
        add([&](RegistrationData& d) {
          d.caches[c].tensors.erase(d.caches[c].tensors.begin() + static_cast<std::ptrdiff_t>(t));
        });
      const Tensor& now = data_.caches[c].tensors[t];
      for (std::size_t a = 0; a < now.shape.size() && a < now.stride.size(); ++a) {
        if (now.shape[a] == 1)
          add([&](RegistrationData& d) {
            of(d).shape.erase(of(d).shape.begin() + static_cast<std::ptrdiff_t>(a));
            of(d).stride.erase(of(d).stride.begin() + static_cast<std::ptrdiff_t>(a));
          });
        number([=](RegistrationData& d) -> std::int64_t& { return of(d).shape[a]; }, 1);
        number([=](RegistrationData& d) -> std::int64_t& { return of(d).stride[a]; }, 1);
      }
      number([=](RegistrationData& d) -> std::int64_t& { return of(d).storage_offset; }, 0);
      if (now.dtype.name != "int8")
        add([&](RegistrationData& d) { of(d).dtype = *find_dtype("int8"); });
    }
  }

  const RegistrationData& data_;
  std::vector<RegistrationData> found_;
};

}  // namespace

std::vector<RegistrationData> simpler(const RegistrationData& data) { return Simpler(data).all(); }

std::string kind_of(const Faults& faults) {
  std::string kind;
  if (faults.empty()) return kind;
  int colons = 0;
  for (const char letter : faults.front()) {
    if (letter == ':' && ++colons == 2) break;
    if (std::isdigit(static_cast<unsigned char>(letter)) == 0) kind += letter;
  }
  return kind;
}

std::string keep(const RegistrationData& data, const std::string& name) {
  const char* given = std::getenv("KVEDIT_FAILURES");
  const std::filesystem::path folder =
      given != nullptr ? std::filesystem::path(given) : std::filesystem::temp_directory_path();
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const std::filesystem::path path = folder / ("kvedit-" + name + ".json");
  std::ofstream(path) << write_registration(data);
  return path.string();
}

std::string how_to_replay(const std::string& test, std::uint64_t seed, const std::string& path) {
  const std::string program = std::string(KVEDIT_BUILD_DIR) + "/bin/";
  return "  again:     KVEDIT_SEED=" + std::to_string(seed) + " KVEDIT_CASES=1 " + program +
         "test_property '" + test + "'\n  shrunk:    KVEDIT_REPLAY=" + path + " " + program +
         "test_property 'registrations to replay*'\n  in words:  " + program + "kvedit explain " +
         path + "\n";
}

}  // namespace kvedit::property
