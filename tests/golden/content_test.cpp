#include <catch2/catch.hpp>

#include "given.hpp"

namespace kvedit::golden {
namespace {

/// What a reader of K and V must know of a layer: from the engines' documents, not from kvedit.
struct Meant {
  const char* registration;
  const char* layer;
  const char* axes;     ///< of the first view; empty: all but the blocks opaque
  const char* because;  ///< empty: readable
  const char* form;
  std::int64_t key, value;
};

constexpr const char* attn_0 = "model.layers.0.self_attn.attn";
constexpr const char* attn_3 = "model.layers.3.self_attn.attn";
constexpr const char* packed = "block head token content";

const Meant meant[] = {
    {"dcp2-dense", attn_0, packed, "", "k-beside-v", 128, 128},
    {"gemma-3-sliding-mix", attn_0, packed, "", "k-beside-v", 256, 256},
    {"llama-lhbnc", attn_0, packed, "", "k-beside-v", 128, 128},
    {"llama-blnhc", attn_0, packed, "", "k-beside-v", 128, 128},
    {"live-v0320-llama", attn_0, packed, "", "k-beside-v", 32, 32},
    {"v026-dense-two-heads-nhd", attn_0, packed, "", "k-beside-v", 128, 128},
    {"four-states-per-token", attn_0, packed, "", "k-beside-v", 64, 64},
    {"qwen3.5-0.8b-flashattn", attn_3, packed, "", "k-beside-v", 256, 256},
    {"v022-dense-kv-planes", attn_0, "kv block token head content", "", "kv-axis", 128, 128},
    {"kv-tuple-two-allocations", attn_0, "block token head content", "", "kv-tensors", 128, 128},
    {"live-v0300-deepseek-v2", attn_0, packed, "", "latent", 576, 0},
    {"kimi-linear-tp2-flashmla", "model.layers.2.self_attn.attn", packed, "", "latent", 576, 0},
    {"v027-kimi-mla-rank3-k12", "model.layers.3.mla", "block token content", "", "latent", 576, 0},
    {"glm-5.3-flash-blhnc", "model.layers.3.self_attn.mla", packed, "", "latent", 512, 0},
    {"glm-5.3-flash-blhnc", "model.layers.3.self_attn.tail", packed, "content", "", 0, 0},
    {"deepseek-v3.2-blhnc", attn_0, packed, "content", "", 0, 0},
    {"turboquant-dense", attn_0, packed, "content", "", 0, 0},
    {"v029-scratch-tail", "model.layers.0.tail", "", "content", "", 0, 0},
    {"v029-scratch-tail", "model.layers.0.indexer", "block token content", "content", "", 0, 0},
    {"qwen3.5-0.8b-flashinfer-nhd", attn_3, "", "kernel-pages", "", 0, 0},
    {"v025-qwen3.5-0.8b-split5", attn_3, "", "kernel-pages", "", 0, 0},
    {"v025-qwen3.5-0.8b-split5", "model.layers.0.linear_attn", "", "recurrent", "", 0, 0},
    {"live-v0320-mamba2", "backbone.layers.0.mixer", "", "recurrent", "", 0, 0},
    {"list-planes-apart", "model.layers.0.linear_attn", "", "recurrent", "", 0, 0},
};

std::string axes_of(const View& view) {
  std::string all;
  bool named = false;
  for (const Role role : view.axes) {
    named = named || (role != Role::block && role != Role::opaque);
    all += (all.empty() ? "" : " ") + std::string(to_text(role));
  }
  return named ? all : std::string();
}

}  // namespace

TEST_CASE("pages say what their axes are and where K and V lie, or that they are opaque, and why") {
  for (const Meant& each : meant) {
    INFO(each.registration << ": " << each.layer);
    const Result result = standard_host().edit(Registration(given_registration(each.registration)));
    const auto layer = result.find_layer(each.layer);
    REQUIRE(layer.has_value());
    REQUIRE(layer->view_count() > 0);
    CHECK(axes_of(layer->view(0)) == each.axes);
    CHECK(layer->opaque_because() == each.because);
    CHECK(layer->pages()->opaque == !std::string(each.because).empty());
    const auto content = layer->content();
    REQUIRE(content.has_value() == std::string(each.because).empty());
    if (!content) continue;
    CHECK(to_text(content->form) == each.form);
    CHECK(content->key_elements == each.key);
    CHECK(content->value_elements == each.value);
  }
}

TEST_CASE("content is the same in every profile") {
  for (const std::string& name : registration_names()) {
    const Registration registration(given_registration(name));
    const Result native = standard_host().edit(registration);
    if (!native.ok()) continue;
    INFO(name);
    for (const Profile profile : {Profile::packed, Profile::bytes}) {
      EditOptions options;
      options.profile = profile;
      const Result other = standard_host().edit(registration, options);
      if (!other.ok()) continue;
      for (std::size_t l = 0; l < native.layer_count(); ++l) {
        CHECK(other.layer(l).content() == native.layer(l).content());
        CHECK(other.layer(l).opaque_because() == native.layer(l).opaque_because());
      }
    }
  }
}

}  // namespace kvedit::golden
