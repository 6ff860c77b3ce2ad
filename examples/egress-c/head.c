/* Says whether a page is there, and what it is: the head of the answer is the reply.
 *
 *   cc -shared -fPIC -fvisibility=hidden -I ../../plugins/abi/include -o head.so head.c */
#include "confine_egress.h"

#include <stdio.h>
#include <string.h>

CONFINE_EGRESS_MANIFEST(manifest, {
    "abi": 1, "name": "head", "version": "0.1.0", "summary": "Say whether a page is there, and what it is",
    "egress": [{ "kind": "http", "hosts": ["crates.io:443", "docs.rs:443"], "methods": ["HEAD"] }],
    "input": { "type": "object", "required": ["url"], "additionalProperties": false,
               "properties": { "url": { "type": "string", "format": "uri" } } },
    "output": { "type": "object" },
    "limits": { "reply_bytes": 65536, "timeout_ms": 10000 }
})

static int32_t open_state(const struct confine_host *host, struct confine_bytes config, void **state) {
    (void)config;
    *state = (void *)host; /* The one thing to remember. */
    return CONFINE_OK;
}

static int32_t call(void *state, struct confine_bytes input, const struct confine_sink *reply) {
    const struct confine_host *host = state;
    char url[4096], request[5000];
    /* The host has checked the input: an object with nothing but a `url`, whose text stays as JSON wrote it. */
    if (input.len >= sizeof url) return CONFINE_BAD_INPUT;
    memcpy(url, input.ptr, input.len);
    url[input.len] = 0;
    char *start = strchr(url, ':'), *end = strrchr(url, '"');
    start = start ? strchr(start, '"') : NULL;
    if (!start || end <= start) return CONFINE_BAD_INPUT;
    end[1] = 0;
    int length = snprintf(request, sizeof request, "{\"method\":\"HEAD\",\"url\":%s,\"headers\":[]}", start);
    struct confine_bytes text = { (const uint8_t *)request, (size_t)length };
    return host->fetch(host->ctx, text, NULL, reply, NULL);
}

const struct confine_egress CONFINE_EGRESS_V1 = {
    .size = sizeof(struct confine_egress), .abi = CONFINE_EGRESS_ABI, .manifest = CONFINE_EGRESS_BYTES(manifest),
    .open = open_state, .call = call,
};
