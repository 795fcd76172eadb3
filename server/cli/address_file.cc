#include "server/cli/address_file.h"

#include <fstream>

namespace rondo::cli {

std::string AddressFileOf(const std::string& state_dir) {
  return state_dir + "/coordinator.address";
}

std::string ReadAddressFile(const std::string& file) {
  std::ifstream stream(file);
  std::string address;
  std::getline(stream, address);
  return address;
}

}  // namespace rondo::cli
