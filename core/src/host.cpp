#include <mutex>

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <kvedit/host.hpp>
#include <kvedit/printable.hpp>

#include "open.hpp"
#include "pipeline.hpp"

namespace kvedit {
namespace {

LogLevel level_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return LogLevel::debug;
    case spdlog::level::info:
      return LogLevel::info;
    case spdlog::level::warn:
      return LogLevel::warning;
    default:
      return LogLevel::error;
  }
}

/// Hands messages to the embedder; nothing is written anywhere else.
class CallbackSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit CallbackSink(std::function<void(LogLevel, std::string_view)> log)
      : log_(std::move(log)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    log_(level_of(message.level), {message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

  std::function<void(LogLevel, std::string_view)> log_;
};

std::unique_ptr<spdlog::logger> make_logger(const HostOptions& options) {
  if (!options.log) return nullptr;
  auto logger =
      std::make_unique<spdlog::logger>("kvedit", std::make_shared<CallbackSink>(options.log));
  logger->set_level(spdlog::level::debug);
  logger->set_error_handler([](const std::string&) {});  // a callback that throws is not our text
  return logger;
}

spdlog::level::level_enum level_of(Severity severity) {
  return severity == Severity::error ? spdlog::level::err : spdlog::level::warn;
}

}  // namespace

struct Host::State {
  std::shared_ptr<const RuleBook> book;
  std::vector<PackInfo> packs;
  std::unique_ptr<spdlog::logger> logger;

  void log_packs() const {
    if (!logger) return;
    for (const PackInfo& pack : packs)
      logger->log(
          pack.state == PackInfo::State::refused ? spdlog::level::warn : spdlog::level::debug,
          "{} {} {}", to_text(pack.state), printable(pack.path), printable(pack.reason));
    logger->info("{} rules loaded", book->rules.size());
  }

  void log_edit(const Edit& edit) const {
    if (!logger) return;
    for (const Problem& problem : edit.problems)
      logger->log(level_of(problem.severity), "{}: {}", to_text(problem.code),
                  printable(problem.message));
  }
};

Expected<Host> Host::open(const HostOptions& options) {
  Expected<OpenedPacks> opened = open_packs(options);
  if (!opened) return opened.error();
  auto state = std::make_shared<State>();
  state->book = std::make_shared<const RuleBook>(std::move(opened->book));
  state->packs = std::move(opened->infos);
  state->logger = make_logger(options);
  state->log_packs();
  return Host(std::move(state));
}

Result Host::edit(const Registration& registration, const EditOptions& options) const {
  auto edit = run_pipeline(registration, options, state_->book);
  state_->log_edit(*edit);
  return Result(std::move(edit));
}

std::span<const RuleInfo> Host::rules() const { return state_->book->infos; }
std::span<const PackInfo> Host::packs() const { return state_->packs; }
std::span<const Problem> Host::problems() const { return state_->book->problems; }

}  // namespace kvedit
