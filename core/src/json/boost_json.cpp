// All of Boost.JSON, for builds that do not link its library (KVEDIT_JSON_FROM_HEADERS).
#include <boost/json/src.hpp>
