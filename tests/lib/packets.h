/* packets - the system drops the packets of a connection, for tests of hosts that do not answer. */
#ifndef TESTS_PACKETS_H
#define TESTS_PACKETS_H

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/* The system drops what arrives at a socket, as if the other's host were gone, or no more. */
static inline bool
packets_drop(int fd, bool off)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &nothing };

	return setsockopt(fd, SOL_SOCKET, off ? SO_DETACH_FILTER : SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

/* An emulator of processors may lack what the test and the connections ask of the system. */
static inline bool
packets_known(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	struct sock_fprog program = { .len = 1, .filter = &all };
	struct tcp_info info;
	socklen_t n = sizeof(info);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool knows = setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &program, sizeof(program)) == 0 &&
	    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 && n == sizeof(info);

	close(fd);
	return knows;
}

#endif
