#include "abi/pack_rules.hpp"

#include <exception>
#include <utility>
#include <vector>

#include "abi/answer_memory.hpp"
#include "abi/answer_reader.hpp"
#include "abi/snapshot.hpp"

namespace kvedit {
namespace {

/// Calls into a pack and reads what it wrote. `call` gives the status.
template <class Call>
Answer ask(const std::string& pack, std::uint64_t tensors, Call call) {
  AnswerMemory memory(tensors);
  Answer answer;
  std::int32_t status = 0;
  try {
    status = call(memory.answer());
    answer = read_answer(memory, status, tensors);
  } catch (const std::exception& thrown) {
    answer = error_answer(std::string("threw: ") + thrown.what());
  } catch (...) {
    answer = error_answer("threw something that is no std::exception");
  }
  if (answer.reason.empty() && answer.verdict == Verdict::error)
    answer.reason =
        "rule pack " + pack + " failed without a text, with status " + std::to_string(status);
  if (answer.reason.empty() && answer.verdict == Verdict::refuse)
    answer.reason = "rule pack " + pack + " refused without a text";
  return answer;
}

class PackRule final : public Rule {
 public:
  PackRule(const kvedit_rule_pack& table, std::uint32_t index, RuleInfo info)
      : answer_(table.answer), index_(index), info_(std::move(info)) {}

  const RuleInfo& info() const override { return info_; }

  Answer answer(const LayerFacts& facts) const override {
    const kvedit_layer& layer = snapshot(facts);
    return ask(info_.pack, layer.tensor_count,
               [&](kvedit_answer& out) { return answer_(index_, &layer, &out); });
  }

 private:
  decltype(kvedit_rule_pack::answer) answer_;
  std::uint32_t index_;
  RuleInfo info_;
};

class PackValidator final : public Validator {
 public:
  PackValidator(const kvedit_validate_v1& table, std::string pack)
      : validate_(table.validate), pack_(std::move(pack)) {}

  const std::string& pack() const override { return pack_; }

  Answer validate(std::span<const LayerFacts> leaves, std::int64_t layer_count) const override {
    std::vector<kvedit_layer> layers;
    layers.reserve(leaves.size());
    for (const LayerFacts& leaf : leaves) layers.push_back(snapshot(leaf));
    const kvedit_group group{sizeof(kvedit_group), layers.data(), layers.size(),
                             sizeof(kvedit_layer), static_cast<std::uint64_t>(layer_count)};
    Answer answer = ask(pack_, 1, [&](kvedit_answer& out) { return validate_(&group, &out); });
    if (answer.verdict == Verdict::match)
      return error_answer("gave the verdict match; a validator refuses or has no objection");
    return answer;
  }

 private:
  decltype(kvedit_validate_v1::validate) validate_;
  std::string pack_;
};

}  // namespace

std::shared_ptr<const Rule> make_pack_rule(const kvedit_rule_pack& table, std::uint32_t index,
                                           RuleInfo info) {
  return std::make_shared<PackRule>(table, index, std::move(info));
}

std::shared_ptr<const Validator> make_pack_validator(const kvedit_validate_v1& table,
                                                     std::string pack) {
  return std::make_shared<PackValidator>(table, std::move(pack));
}

}  // namespace kvedit
