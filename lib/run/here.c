/* here - what an agent finds out about its own host: address, free port, processors. */
#include "run/here.h"

#include "base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int
format_host_addr(const char *addr, char text[HERE_ADDR])
{
	const char *fmt = strchr(addr, ':') != NULL ? "[%s]" : "%s";

	if (snprintf(text, HERE_ADDR, fmt, addr) >= HERE_ADDR)
		return err_fail(ERR_LIMIT, "an address longer than %d bytes", HERE_ADDR - 3);
	return 0;
}

/* Prefers IPv4.  Link-local addresses are skipped, as they mean nothing on other hosts. */
static int
find_interface_addr(const char *iface, char text[HERE_ADDR])
{
	char digits[INET6_ADDRSTRLEN] = "";
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0)
		return err_sys("the interfaces");
	for (struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		int family = i->ifa_addr != NULL ? i->ifa_addr->sa_family : AF_UNSPEC;

		if (strcmp(i->ifa_name, iface) != 0)
			continue;
		if (family == AF_INET) {
			inet_ntop(family, &((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr, digits,
			    sizeof(digits));
			break;
		}
		if (family == AF_INET6) {
			struct in6_addr *a = &((struct sockaddr_in6 *)(void *)i->ifa_addr)->sin6_addr;

			if (!IN6_IS_ADDR_LINKLOCAL(a))
				inet_ntop(family, a, digits, sizeof(digits));
		}
	}
	freeifaddrs(all);
	if (digits[0] == 0)
		return err_fail(ERR_ARG, "interface %s: not there, or without an address; 'ip address' lists them",
		    iface);
	return format_host_addr(digits, text);
}

int
here_addr(const char *addr, const char *iface, const char *name, char text[HERE_ADDR])
{
	const char *ssh = getenv("SSH_CONNECTION");
	char server[HERE_ADDR];

	if (*addr != 0)
		return format_host_addr(addr, text);
	if (*iface != 0)
		return find_interface_addr(iface, text);
	/* client address, client port, server address, server port */
	if (ssh != NULL && sscanf(ssh, "%*s %*s %255s", server) == 1)
		return format_host_addr(server, text);
	return format_host_addr(name, text);
}

int
here_port(int *fd, unsigned *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof(a);
	int one = 1;

	if ((*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
		return err_sys("socket");
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(*fd, (struct sockaddr *)&a, n) < 0 || getsockname(*fd, (struct sockaddr *)&a, &n) < 0) {
		int e = err_sys("a free port");

		close(*fd);
		*fd = -1;
		return e;
	}
	*port = ntohs(a.sin_port);
	return 0;
}

void
here_pid_space(char *text, size_t size)
{
	char boot[64], names[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, boot, sizeof(boot) - 1) : 0;

	if (fd >= 0)
		close(fd);
	boot[n > 0 ? n : 0] = 0;
	n = readlink("/proc/self/ns/pid", names, sizeof(names) - 1);
	names[n > 0 ? n : 0] = 0;
	snprintf(text, size, "%.*s/%s", (int)strcspn(boot, "\n"), boot, names);
}
