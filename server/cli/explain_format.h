// A round's explanation as text and as JSON.
#ifndef RONDO_SERVER_CLI_EXPLAIN_FORMAT_H_
#define RONDO_SERVER_CLI_EXPLAIN_FORMAT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "proto/rondo/v1/jobs.pb.h"

namespace rondo::cli {

// "open", "committed", "voided", "undone".
std::string FateName(v1::RoundFate fate);

// Every field of RoundExplanation by its name, lists and objects included; what is not finite is
// null once dumped.
nlohmann::ordered_json ExplanationJson(const v1::RoundExplanation& explanation);

// Several lines, each ended by a newline. What did not happen is left out.
std::string ExplanationText(const v1::RoundExplanation& explanation);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_EXPLAIN_FORMAT_H_
