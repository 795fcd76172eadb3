// Connections between processes of a test, cut from outside as a network would cut them.
#ifndef RONDO_TESTS_E2E_SOCKETS_H_
#define RONDO_TESTS_E2E_SOCKETS_H_

#include <sys/types.h>

namespace rondo::e2e {

// Shuts down every TCP connection (IPv4) that joins these two processes, descendants of this one:
// both ends see it end, neither process does anything. How many there were; -1: this system does
// not let a process reach into another's sockets.
int CutConnections(pid_t a, pid_t b);

}  // namespace rondo::e2e

#endif  // RONDO_TESTS_E2E_SOCKETS_H_
