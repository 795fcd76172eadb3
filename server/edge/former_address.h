// Where a coordinator listens that goes on with a run: workers dial the address that they were
// given, so the one at which the last coordinator was found is the best.
#ifndef RONDO_SERVER_EDGE_FORMER_ADDRESS_H_
#define RONDO_SERVER_EDGE_FORMER_ADDRESS_H_

#include <optional>
#include <string>

#include "server/edge/listen_address.h"

namespace rondo::server {

// What the file at `path` (StateDir::address_path) says; nothing: the last coordinator ended in
// order, or never listened.
std::optional<ListenAddress> ReadFormerAddress(const std::string& path);

// `wanted`; where that leaves the port to the system, the former one's if its host is the same and
// nobody listens there now.
ListenAddress ChooseAddress(const ListenAddress& wanted,
                            const std::optional<ListenAddress>& former);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_FORMER_ADDRESS_H_
