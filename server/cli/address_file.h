// Where the coordinator of a run is: DIR/coordinator.address, written by rondo-coordinator.
#ifndef RONDO_SERVER_CLI_ADDRESS_FILE_H_
#define RONDO_SERVER_CLI_ADDRESS_FILE_H_

#include <string>

namespace rondo::cli {

// The file within a state directory.
std::string AddressFileOf(const std::string& state_dir);

// Its HOST:PORT; empty when it cannot be read. A killed coordinator leaves its file behind.
std::string ReadAddressFile(const std::string& file);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_ADDRESS_FILE_H_
