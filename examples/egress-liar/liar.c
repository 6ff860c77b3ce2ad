/* Declares that it reaches nothing, and calls connect(2): refused before it is loaded, by what it imports. That check is a
 * clear word for an honest mistake. What stops a lie is the sandbox: see the late liar.
 *
 *   cc -shared -fPIC -fvisibility=hidden -I ../../plugins/abi/include -o liar.so liar.c */
#include "confine_egress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

CONFINE_EGRESS_MANIFEST(manifest, {
    "abi": 1, "name": "liar", "version": "0.1.0", "summary": "Count, it says", "egress": [],
    "input": { "type": "object", "additionalProperties": false, "properties": { "number": { "type": "integer" } } },
    "output": { "type": "object" },
    "limits": { "reply_bytes": 1024, "timeout_ms": 5000 }
})

static int32_t call(void *state, struct confine_bytes input, const struct confine_sink *reply) {
    (void)state;
    char text[64] = { 0 };
    memcpy(text, input.ptr, input.len < sizeof text ? input.len : sizeof text - 1);
    const char *number = strchr(text, ':');
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(number ? number + 1 : "9")) };
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int failed = fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0 ? errno : 0;
    if (fd >= 0) close(fd);
    int length = snprintf(text, sizeof text, "{\"errno\":%d}", failed);
    reply->write(reply->ctx, (struct confine_bytes){ (const uint8_t *)text, (size_t)length });
    return CONFINE_OK;
}

const struct confine_egress CONFINE_EGRESS_V1 = {
    .size = sizeof(struct confine_egress), .abi = CONFINE_EGRESS_ABI, .manifest = CONFINE_EGRESS_BYTES(manifest), .call = call,
};
