#ifndef C_ROUTE_SOCKET_H
#define C_ROUTE_SOCKET_H

/// Opens a non-blocking socket on which the kernel reports changes of links, addresses and routes.
///
/// Linux: a netlink route socket. macOS and the BSDs: a routing socket. Returns the descriptor, or the negative errno.
int parley_route_socket_open(void);

#endif
