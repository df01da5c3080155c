# What the rooms may use; which room may use what is checked by tests/structure.
if(KVEDIT_JSON_FROM_HEADERS)
  find_package(Boost 1.81 CONFIG)
else()
  find_package(Boost 1.81 CONFIG COMPONENTS json)
endif()
if(NOT Boost_FOUND)
  message(FATAL_ERROR
    "Boost 1.81 or newer with Boost.JSON not found. Debian 12: apt-get install libboost1.81-dev "
    "libboost-json1.81-dev (its default libboost-dev is 1.74 and conflicts with them), or run "
    "scripts/build.sh, which installs what is missing")
endif()
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(Threads REQUIRED)

if(KVEDIT_TORCH)
  include(KveditLibTorch)
  kvedit_find_libtorch()
else()
  message(STATUS "kvedit: core/torch is left out (KVEDIT_TORCH is off)")
endif()
