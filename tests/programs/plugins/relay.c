/* A plugin that passes bodies on: {"upload": parts} uploads so many parts and replies with the body of the answer.
 * "break": fail after so many parts; "enough": stop after so many parts of the answer; "nested": try a second request
 * inside the first; "connect": say hello over a connection, and reply with the answer. */
#include "confine_egress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

CONFINE_EGRESS_MANIFEST(manifest, {
    "abi": 1, "name": "relay", "version": "0.1.0", "summary": "Pass bodies on",
    "egress": [{ "kind": "http", "hosts": ["relay.example:443"], "methods": ["POST"] },
               { "kind": "tcp", "hosts": ["db.example:5432"] }],
    "input": { "type": "object", "additionalProperties": false,
               "properties": { "upload": { "type": "integer" }, "break": { "type": "integer" },
                               "enough": { "type": "integer" }, "nested": { "type": "integer" },
                               "connect": { "type": "integer" } } },
    "output": { "type": "string" },
    "limits": { "reply_bytes": 1048576, "timeout_ms": 10000 }
})

struct call {
    const struct confine_host *host;
    const struct confine_sink *reply;
    long left, breaks, enough, nested;
};

static long number(struct confine_bytes input, const char *name, long otherwise) {
    char text[256] = { 0 };
    memcpy(text, input.ptr, input.len < sizeof text ? input.len : sizeof text - 1);
    char *found = strstr(text, name);
    return found ? atol(found + strlen(name) + 2) : otherwise;
}

static int64_t give(void *ctx, uint8_t *buf, size_t len) {
    struct call *call = ctx;
    if (call->left == 0) return 0;
    if (call->breaks-- == 0) return CONFINE_FAILED;
    call->left--;
    memset(buf, 'u', len);
    return (int64_t)len;
}

static int32_t take(void *ctx, struct confine_bytes part) {
    struct call *call = ctx;
    if (call->nested) {
        char text[32];
        int32_t code = call->host->fetch(call->host->ctx, CONFINE_EGRESS_TEXT("{}"), NULL, NULL, NULL);
        int length = snprintf(text, sizeof text, "nested %d", (int)code);
        call->host->log(call->host->ctx, CONFINE_LOG_INFO, (struct confine_bytes){ (uint8_t *)text, (size_t)length });
    }
    if (call->enough-- == 0) return 1;
    return call->reply->write(call->reply->ctx, part);
}

static int32_t greet(const struct confine_host *host, const struct confine_sink *reply) {
    int32_t fd = -1;
    struct confine_bytes target = CONFINE_EGRESS_TEXT("{\"host\":\"db.example\",\"port\":5432}");
    int32_t code = host->connect(host->ctx, target, &fd);
    if (code != CONFINE_OK) return code;
    uint8_t answer[16];
    if (write(fd, "hello", 5) != 5) return CONFINE_FAILED;
    ssize_t count = read(fd, answer, sizeof answer);
    close(fd);
    if (count < 0) return CONFINE_FAILED;
    return reply->write(reply->ctx, (struct confine_bytes){ answer, (size_t)count }) ? CONFINE_CANCELLED : CONFINE_OK;
}

static int32_t open_state(const struct confine_host *host, struct confine_bytes config, void **state) {
    (void)config;
    *state = (void *)host;
    return CONFINE_OK;
}

static int32_t call(void *state, struct confine_bytes input, const struct confine_sink *reply) {
    const struct confine_host *host = state;
    if (number(input, "connect", 0)) return greet(host, reply);
    struct call call = { host, reply, number(input, "upload", 0), number(input, "break", -1), number(input, "enough", -1),
                         number(input, "nested", 0) };
    struct confine_source source = { &call, give };
    struct confine_sink sink = { &call, take };
    struct confine_bytes request =
        CONFINE_EGRESS_TEXT("{\"method\":\"POST\",\"url\":\"https://relay.example/\",\"headers\":[]}");
    return host->fetch(host->ctx, request, call.left ? &source : NULL, NULL, &sink);
}

const struct confine_egress CONFINE_EGRESS_V1 = {
    .size = sizeof(struct confine_egress), .abi = CONFINE_EGRESS_ABI, .manifest = CONFINE_EGRESS_BYTES(manifest),
    .open = open_state, .call = call,
};
