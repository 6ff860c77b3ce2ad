/* A plugin that moves bytes: {"port": N} gets `http://bridge.test:N/` and replies with how many bytes came; with
 * "up": BYTES it uploads so many. "echo": 1 replies with the body itself. Compiled with -DNAME= and -DPORT=. */
#include "confine_egress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#ifndef NAME
#define NAME bridge
#endif
#ifndef AT_ONCE
#define AT_ONCE 1
#endif

#define MANIFEST \
    "{ \"abi\": 1, \"name\": \"" TEXT(NAME) "\", \"version\": \"0.1.0\", \"summary\": \"Move bytes\"," \
    " \"egress\": [{ \"kind\": \"http\", \"hosts\": [\"bridge.test:" TEXT(PORT) "\"], \"methods\": [\"GET\", \"POST\"] }]," \
    " \"input\": { \"type\": \"object\", \"properties\": { \"port\": { \"type\": \"integer\" }," \
    " \"up\": { \"type\": \"integer\" }, \"echo\": { \"type\": \"integer\" } }, \"additionalProperties\": false }," \
    " \"output\": { \"type\": \"object\" }," \
    " \"limits\": { \"reply_bytes\": 1048576, \"timeout_ms\": 60000 }, \"concurrency\": " TEXT(AT_ONCE) " }"

static const char manifest[sizeof(MANIFEST) - 1] __attribute__((section(".confine.manifest"), used)) = MANIFEST;

struct call {
    const struct confine_sink *reply;
    long left, came, echo;
};

static long number(struct confine_bytes input, const char *name) {
    char text[256] = { 0 };
    memcpy(text, input.ptr, input.len < sizeof text ? input.len : sizeof text - 1);
    char *found = strstr(text, name);
    return found ? atol(found + strlen(name) + 2) : 0;
}

static int64_t give(void *ctx, uint8_t *buf, size_t len) {
    struct call *call = ctx;
    size_t count = (size_t)call->left < len ? (size_t)call->left : len;
    memset(buf, 'u', count);
    call->left -= (long)count;
    return (int64_t)count;
}

static int32_t take(void *ctx, struct confine_bytes part) {
    struct call *call = ctx;
    call->came += (long)part.len;
    return call->echo ? call->reply->write(call->reply->ctx, part) : 0;
}

static int32_t open_state(const struct confine_host *host, struct confine_bytes config, void **state) {
    (void)config;
    *state = (void *)host;
    return CONFINE_OK;
}

static int32_t call(void *state, struct confine_bytes input, const struct confine_sink *reply) {
    const struct confine_host *host = state;
    struct call call = { reply, number(input, "up"), 0, number(input, "echo") };
    struct confine_source source = { &call, give };
    struct confine_sink sink = { &call, take };
    char text[256];
    int length = snprintf(text, sizeof text, "{\"method\":\"%s\",\"url\":\"http://bridge.test:%ld/\",\"headers\":[]}",
                          call.left ? "POST" : "GET", number(input, "port"));
    struct confine_bytes request = { (const uint8_t *)text, (size_t)length };
    int32_t code = host->fetch(host->ctx, request, call.left ? &source : NULL, NULL, &sink);
    if (code != CONFINE_OK || call.echo) return code;
    length = snprintf(text, sizeof text, "{\"came\":%ld}", call.came);
    struct confine_bytes part = { (const uint8_t *)text, (size_t)length };
    return reply->write(reply->ctx, part) ? CONFINE_CANCELLED : CONFINE_OK;
}

__attribute__((visibility("default"), used)) const struct confine_egress CONFINE_EGRESS_V1 = {
    .size = sizeof(struct confine_egress), .abi = CONFINE_EGRESS_ABI,
    .manifest = { (const uint8_t *)manifest, sizeof manifest },
    .open = open_state, .call = call,
};
