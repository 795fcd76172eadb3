#include "server/edge/former_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "server/edge/listen_address.h"

namespace rondo::server {
namespace {

// Listens on a port of the system's choice for as long as it lives.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(fd_); }
  int port() const { return port_; }

 private:
  const int fd_;
  int port_ = 0;
};

ListenAddress At(const std::string& text) { return ParseListenAddress(text).value(); }

TEST(FormerAddressTest, APortLeftToTheSystemIsTheFormerOneIfThatIsFree) {
  int port = 0;
  {
    const Listener listener;
    port = listener.port();
    const ListenAddress former = At("127.0.0.1:" + std::to_string(port));
    EXPECT_EQ(ChooseAddress(At("127.0.0.1:0"), former).port, 0) << "somebody listens there";
  }
  const ListenAddress former = At("127.0.0.1:" + std::to_string(port));
  EXPECT_EQ(ChooseAddress(At("127.0.0.1:0"), former).port, port);
  EXPECT_EQ(ChooseAddress(At("127.0.0.1:7"), former).port, 7);
  EXPECT_EQ(ChooseAddress(At("127.0.0.2:0"), former).port, 0);
  EXPECT_EQ(ChooseAddress(At("127.0.0.1:0"), std::nullopt).port, 0);
}

TEST(FormerAddressTest, ReadsWhatTheLastCoordinatorWrote) {
  const std::string path = testing::TempDir() + "/address";
  EXPECT_FALSE(ReadFormerAddress(path + "-missing").has_value());
  std::ofstream(path) << "127.0.0.1:7001\n";
  ASSERT_TRUE(ReadFormerAddress(path).has_value());
  EXPECT_EQ(ReadFormerAddress(path)->Text(), "127.0.0.1:7001");
  std::ofstream(path) << "torn";
  EXPECT_FALSE(ReadFormerAddress(path).has_value());
}

}  // namespace
}  // namespace rondo::server
