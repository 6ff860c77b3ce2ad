/* A plugin whose table is of another shape: one of the macros below says of which. */
#include "confine_egress.h"

CONFINE_EGRESS_MANIFEST(manifest, {
    "abi": 1, "name": "shape", "version": "0.1.0", "summary": "Be of another shape", "egress": [],
    "input": { "type": "object", "additionalProperties": false }, "output": { "type": "object" },
    "limits": { "reply_bytes": 1024, "timeout_ms": 1000 }
})

static int32_t call(void *state, struct confine_bytes input, const struct confine_sink *reply) {
    (void)state, (void)input;
    return reply->write(reply->ctx, CONFINE_EGRESS_TEXT("{}")) ? CONFINE_CANCELLED : CONFINE_OK;
}

#define HEAD .abi = CONFINE_EGRESS_ABI, .manifest = CONFINE_EGRESS_BYTES(manifest)
#define EXPORT __attribute__((visibility("default"), used))

#if defined(SMALLER)
/* Ends before `close`; what lies behind it is no function, and ends the helper if it is taken for one. */
struct smaller { size_t size; uint32_t abi; struct confine_bytes manifest; void *open; void *call; };
static const struct { struct smaller table; void *behind; } object =
    { { .size = sizeof(struct smaller), HEAD, .call = (void *)call }, (void *)1 };
__asm__(".globl CONFINE_EGRESS_V1\n.set CONFINE_EGRESS_V1, object\n");
EXPORT const void *const keep = &object;
#elif defined(LARGER)
struct larger { struct confine_egress now; void *later[3]; };
static const struct larger object =
    { { .size = sizeof(struct larger), HEAD, .call = call }, { (void *)1, (void *)1, (void *)1 } };
__asm__(".globl CONFINE_EGRESS_V1\n.set CONFINE_EGRESS_V1, object\n");
EXPORT const void *const keep = &object;
#elif defined(TINY)
EXPORT const struct confine_egress CONFINE_EGRESS_V1 = { .size = 40, HEAD, .call = call };
#elif defined(ZERO)
EXPORT const struct confine_egress CONFINE_EGRESS_V1 = { .size = 0 };
#elif defined(ABI7)
EXPORT const struct confine_egress CONFINE_EGRESS_V1 =
    { .size = sizeof(struct confine_egress), .abi = 7, .manifest = CONFINE_EGRESS_BYTES(manifest), .call = call };
#elif defined(MUTE)
EXPORT const struct confine_egress CONFINE_EGRESS_V1 = { .size = sizeof(struct confine_egress), HEAD };
#elif defined(BARE)
EXPORT const struct confine_egress CONFINE_EGRESS_V1 =
    { .size = sizeof(struct confine_egress), .abi = CONFINE_EGRESS_ABI, .call = call };
#elif defined(HUGE_MANIFEST)
EXPORT const struct confine_egress CONFINE_EGRESS_V1 =
    { .size = sizeof(struct confine_egress), .abi = CONFINE_EGRESS_ABI, .manifest = { (const uint8_t *)manifest, 1 << 30 },
      .call = call };
#elif defined(VERSION2)
EXPORT const struct confine_egress CONFINE_EGRESS_V2 = { .size = sizeof(struct confine_egress), .abi = 2, .call = call };
#else
EXPORT const void *const nothing = (const void *)call;
#endif
