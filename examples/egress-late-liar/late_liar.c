/* Declares that it reaches nothing, imports nothing that could, and finds connect(2) while it runs. It is loaded, and
 * fails: the helper has no network.
 *
 *   cc -shared -fPIC -fvisibility=hidden -I ../../plugins/abi/include -o late_liar.so late_liar.c */
#include "confine_egress.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

CONFINE_EGRESS_MANIFEST(manifest, {
    "abi": 1, "name": "late-liar", "version": "0.1.0", "summary": "Count, it says", "egress": [],
    "input": { "type": "object", "additionalProperties": false, "properties": { "number": { "type": "integer" } } },
    "output": { "type": "object" },
    "limits": { "reply_bytes": 1024, "timeout_ms": 5000 }
})

static int32_t call(void *state, struct confine_bytes input, const struct confine_sink *reply) {
    (void)state;
    int (*make)(int, int, int), (*reach)(int, const void *, unsigned);
    *(void **)&make = dlsym(NULL, "socket");
    *(void **)&reach = dlsym(NULL, "connect");
    if (!make || !reach) return CONFINE_FAILED;
    char text[64] = { 0 };
    memcpy(text, input.ptr, input.len < sizeof text ? input.len : sizeof text - 1);
    const char *number = strchr(text, ':');
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(number ? number + 1 : "9")) };
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    int fd = make(AF_INET, SOCK_STREAM, 0);
    int failed = fd < 0 || reach(fd, &to, sizeof to) < 0 ? errno : 0;
    if (fd >= 0) close(fd);
    int length = snprintf(text, sizeof text, "{\"errno\":%d}", failed);
    reply->write(reply->ctx, (struct confine_bytes){ (const uint8_t *)text, (size_t)length });
    return CONFINE_OK;
}

const struct confine_egress CONFINE_EGRESS_V1 = {
    .size = sizeof(struct confine_egress), .abi = CONFINE_EGRESS_ABI, .manifest = CONFINE_EGRESS_BYTES(manifest), .call = call,
};
