/* Prints every size and offset of the header, as the lines that `layout.rs` expects of Rust. */
#include "confine_egress.h"
#include <stdio.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(struct type))
#define FIELD(type, field) printf(#type "." #field " %zu\n", offsetof(struct type, field))
#define NUMBER(name) printf(#name " %lld\n", (long long)(name))

CONFINE_EGRESS_MANIFEST(manifest, { "abi": 1 })

int main(void) {
    SIZE(confine_bytes);
    FIELD(confine_bytes, ptr);
    FIELD(confine_bytes, len);
    SIZE(confine_sink);
    FIELD(confine_sink, ctx);
    FIELD(confine_sink, write);
    SIZE(confine_source);
    FIELD(confine_source, ctx);
    FIELD(confine_source, read);
    SIZE(confine_host);
    FIELD(confine_host, size);
    FIELD(confine_host, abi);
    FIELD(confine_host, ctx);
    FIELD(confine_host, log);
    FIELD(confine_host, fetch);
    FIELD(confine_host, connect);
    FIELD(confine_host, cancelled);
    SIZE(confine_egress);
    FIELD(confine_egress, size);
    FIELD(confine_egress, abi);
    FIELD(confine_egress, manifest);
    FIELD(confine_egress, open);
    FIELD(confine_egress, call);
    FIELD(confine_egress, close);
    NUMBER(CONFINE_EGRESS_ABI);
    NUMBER(CONFINE_EGRESS_MANIFEST_MAX);
    NUMBER(CONFINE_EGRESS_TEXT_MAX);
    NUMBER(CONFINE_EGRESS_PART_MAX);
    NUMBER(CONFINE_EGRESS_SIZE_MIN);
    NUMBER(CONFINE_OK);
    NUMBER(CONFINE_PANICKED);
    NUMBER(CONFINE_BAD_INPUT);
    NUMBER(CONFINE_FAILED);
    NUMBER(CONFINE_DENIED);
    NUMBER(CONFINE_CANCELLED);
    NUMBER(CONFINE_LOG_ERROR);
    NUMBER(CONFINE_LOG_WARN);
    NUMBER(CONFINE_LOG_INFO);
    NUMBER(CONFINE_LOG_DEBUG);
    struct confine_bytes bytes = CONFINE_EGRESS_BYTES(manifest);
    printf("manifest %.*s\n", (int)bytes.len, (const char *)bytes.ptr);
    struct confine_host whole = { .size = sizeof whole }, old = { .size = offsetof(struct confine_host, cancelled) };
    printf("has %d %d\n", CONFINE_EGRESS_HAS(&whole, cancelled), CONFINE_EGRESS_HAS(&old, cancelled));
    return 0;
}
