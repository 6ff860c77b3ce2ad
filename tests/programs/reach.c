/* reach tcp|udp PORT, reach unix|abstract NAME: sends one byte to a socket outside. */
#include "attack.h"
#include <arpa/inet.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

static void send_to(int kind, int type, const void *address, socklen_t length)
{
    int fd = must("socket", socket(kind, type, 0));
    must("connect", connect(fd, address, length));
    must("write", write(fd, "x", 1));
}

static void internet(int type, const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    send_to(AF_INET, type, &address, sizeof address);
}

static void local(int offset, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strnlen(name, sizeof address.sun_path - 2);
    memcpy(address.sun_path + offset, name, length);
    send_to(AF_UNIX, SOCK_STREAM, &address, offsetof(struct sockaddr_un, sun_path) + offset + length);
}

int main(int argc, char **argv)
{
    const char *how = argument(argc, argv, 1), *where = argument(argc, argv, 2);
    if (strcmp(how, "tcp") == 0)
        internet(SOCK_STREAM, where);
    else if (strcmp(how, "udp") == 0)
        internet(SOCK_DGRAM, where);
    else
        local(strcmp(how, "abstract") == 0, where);
    return 0;
}
