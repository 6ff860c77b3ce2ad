/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The interface between `confine` and an egress plugin: a tool that reaches the network through confine, and only as
 * far as its manifest declares. Everything that a plugin's author needs is in this file, ABI 1.
 *
 * WHAT A PLUGIN IS
 *
 * A shared library (ELF, this machine's class and architecture) that exports one object, `CONFINE_EGRESS_V1`. It is
 * loaded by a helper process that confine starts for it in a sandbox: no network, no files but the system's libraries,
 * a private and bounded /tmp, an empty environment, limits on time, memory and descriptors. So a plugin does not
 * connect to anything itself: it asks the host by `fetch` or `connect`, and the host does what the manifest declares,
 * the user's policy allows and, where those leave it open, the user approves. Calls like connect(2) or getaddrinfo(3)
 * do not work in the helper; a library that imports them is refused before it is loaded.
 *
 * THE MANIFEST
 *
 * A JSON object, UTF-8, at most 64 KiB:
 *
 *   abi          1
 *   name         of the tool: `a` to `z`, `0` to `9` and `-`, a letter first
 *   version      of the tool, as `1.2.3`
 *   summary      one line: what it does, for a person and for a model
 *   egress       what it may reach: a list of { "kind": "http", "hosts": […], "methods": […] }, for `fetch`, and of
 *                { "kind": "tcp", "hosts": […] }, for `connect`. A host is a name (`crates.io:443`), the names below one
 *                (`*.crates.io:443`: not `crates.io` itself), an address or a network (`192.0.2.0/24`). Without a port
 *                443 and 80 are meant. No scheme, no path, no bare `*`. An empty list: the tool reaches nothing.
 *   credentials  a list of { "name": "CRATES_TOKEN", "as": "header:authorization", "hosts": […] }: what the host puts
 *                into requests to these hosts, which must be among those of `egress`. The plugin never holds its value.
 *   input        the JSON schema of what `call` takes: an object that names every property and takes no other
 *                ("additionalProperties": false). One that is a URL, a host or an address, by its `format` or by its name,
 *                needs `egress`.
 *   output       the JSON schema of what `call` replies
 *   limits       { "reply_bytes": N, "timeout_ms": N }: of one call
 *   concurrency  how many states one helper opens, each with a thread of its own; 1 where it is left out
 *
 * Unknown fields are refused, but for those that begin with `x-`, which mean nothing. The manifest stands in the ELF
 * section `.confine.manifest`, where it can be read without running the plugin, and `CONFINE_EGRESS_V1.manifest` names
 * the same bytes; CONFINE_EGRESS_MANIFEST below makes both from one text. Any other change of it is a new plugin for
 * the user to look at, and so is any change of the file.
 *
 * HOW IT IS CALLED
 *
 * The helper loads the library once and never unloads it. For each state there is one thread: on it `open` runs before
 * the first call, then one `call` at a time, `close` last. Two states run at the same time, so what they share needs
 * the plugin's own locks. `close` may never come: a helper can end at any moment, by SIGKILL.
 *
 * Functions return CONFINE_OK or one of the negative codes below; anything else a plugin returns counts as
 * CONFINE_FAILED. No C++ exception and no Rust panic may leave a function of the plugin.
 *
 * A call may block for as long as the manifest's `timeout_ms`, and is killed after that, with the whole helper. Where
 * the user cancels earlier, `cancelled` says so, and functions of the host return CONFINE_CANCELLED; a plugin that does
 * not return soon afterwards is killed as well. A crash, an exit or a kill ends the helper and so every call that runs
 * in it: with a concurrency of 1 that one call alone. The next call gets a new helper.
 *
 * After each call the helper looks whether it is as before. One with new threads, with child processes, more than a few
 * dozen new descriptors, changed signal handlers or a running alarm is not used again, after its answer. One that has
 * lost the sockets to its host ends at once, without an answer.
 *
 * MEMORY
 *
 * Who makes a thing frees it; nobody frees anything of the other's. Byte ranges are borrowed for the call they are
 * passed to, on both sides; what is to be kept is copied. Results are written into a sink of the caller's. The struct
 * `confine_host`, and only that, lives from `open` until the end of `close`.
 *
 * SIZES AND VERSIONS
 *
 * The major version is in the name of the symbol. Within it structs only grow at their end, and begin with their own
 * size. Each side compares that with what it knows, and never reads past the smaller of the two. A plugin built with a
 * later header than its host sees a smaller `host->size`: before it uses a field that came later than ABI 1.0, it asks
 * CONFINE_EGRESS_HAS. `confine_bytes`, `confine_sink` and `confine_source` never change.
 *
 * A PLUGIN IN FULL
 *
 *   #include "confine_egress.h"
 *
 *   CONFINE_EGRESS_MANIFEST(manifest, {
 *     "abi": 1, "name": "hello", "version": "0.1.0", "summary": "Say hello", "egress": [],
 *     "input": { "type": "object", "additionalProperties": false }, "output": { "type": "object" },
 *     "limits": { "reply_bytes": 1024, "timeout_ms": 1000 }
 *   })
 *
 *   static int32_t call(void *state, struct confine_bytes input, const struct confine_sink *reply) {
 *     (void)state, (void)input;
 *     return reply->write(reply->ctx, CONFINE_EGRESS_TEXT("{\"hello\":\"world\"}")) ? CONFINE_CANCELLED : CONFINE_OK;
 *   }
 *
 *   const struct confine_egress CONFINE_EGRESS_V1 = {
 *     .size = sizeof(struct confine_egress), .abi = CONFINE_EGRESS_ABI,
 *     .manifest = CONFINE_EGRESS_BYTES(manifest), .call = call,
 *   };
 *
 *   cc -shared -fPIC -fvisibility=hidden -o hello.so hello.c
 *   confine plugin lock ./hello.so && confine plugin call hello '{}'
 */
#ifndef CONFINE_EGRESS_H
#define CONFINE_EGRESS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The major version of this interface, and of a manifest. */
#define CONFINE_EGRESS_ABI 1u

/* The most bytes of a manifest, an input, a configuration, a request, a target and a head; more is CONFINE_BAD_INPUT.
 * (One byte of a frame of 1 MiB tells of a request whether a body follows.) */
#define CONFINE_EGRESS_MANIFEST_MAX 65536u
#define CONFINE_EGRESS_TEXT_MAX 1048575u
/* The most bytes of a body that one call of a sink or a source passes. */
#define CONFINE_EGRESS_PART_MAX 65536u

/* What functions return. */
enum {
    /* It is done. */
    CONFINE_OK = 0,
    /* The plugin's own code failed in a way that it did not foresee: its state may be damaged. */
    CONFINE_PANICKED = -1,
    /* What was passed is not what the manifest or this file asks for. */
    CONFINE_BAD_INPUT = -2,
    /* It was tried and did not work: no connection, no such page, an answer that makes no sense. */
    CONFINE_FAILED = -3,
    /* Not declared, not allowed, or not approved. Asking again does not help. */
    CONFINE_DENIED = -4,
    /* The host wants the call to end. Return soon. */
    CONFINE_CANCELLED = -5
};

/* How much a line of `log` matters. */
enum { CONFINE_LOG_ERROR = 1, CONFINE_LOG_WARN = 2, CONFINE_LOG_INFO = 3, CONFINE_LOG_DEBUG = 4 };

/* A range of bytes, borrowed. No NUL ends it. `ptr` may be NULL where `len` is 0. */
struct confine_bytes {
    const uint8_t *ptr;
    size_t len;
};

/* Where somebody else's bytes are written to, part by part. */
struct confine_sink {
    /* To be passed to `write`. */
    void *ctx;
    /* Takes a part of any length; what it needs later, it copies. Returns 0 to go on; with anything else the writer stops
     * and writes no more. May block. */
    int32_t (*write)(void *ctx, struct confine_bytes part);
};

/* Where somebody else's bytes are read from. */
struct confine_source {
    /* To be passed to `read`. */
    void *ctx;
    /* Writes up to `len` bytes to `buf`, and returns how many; 0 is the end, a negative code means that the rest cannot be
     * had, and ends what it was read for. Is not called again after either. May block. */
    int64_t (*read)(void *ctx, uint8_t *buf, size_t len);
};

/* What a plugin may ask of its host. Each function may be called only from `open`, `call` or `close` of the state that
 * this struct was given to, on that thread; elsewhere it does nothing and returns CONFINE_FAILED. All of them take
 * `ctx` first. Inside the sinks and the source of a `fetch`, `log`, `cancelled` and a reply's `write` may be called, but
 * no second `fetch` or `connect` (CONFINE_BAD_INPUT). */
struct confine_host {
    /* Of this struct, in bytes, as the host knows it. */
    size_t size;
    /* CONFINE_EGRESS_ABI of the host. */
    uint32_t abi;
    /* To be passed to every function. */
    void *ctx;

    /* Notes a line for the user, UTF-8. Where a call fails, this is where its reason is told: CONFINE_LOG_ERROR. Secrets
     * that the host knows are made unreadable. A level that is none is CONFINE_LOG_DEBUG, and more than 64 KiB are cut. */
    void (*log)(void *ctx, uint32_t level, struct confine_bytes text);

    /* Makes one HTTP request, follows its redirects, and waits for the end of the answer. For `egress` of the kind `http`.
     *
     * request  JSON { "method": "GET", "url": "https://crates.io/…", "headers": [["accept", "text/html"], …] }. Headers
     *          that name a peer, a length, a connection or a declared credential are the host's (CONFINE_BAD_INPUT).
     * upload   the body of the request, of any length; NULL where it has none.
     * head     gets the head of the answer in one part, once: JSON { "status": 200, "headers": [["content-type", "…"], …] }.
     *          NULL where it does not matter.
     * body     gets the body of the answer, in parts of at most CONFINE_EGRESS_PART_MAX, after the head. NULL where it does
     *          not matter.
     *
     * Returns CONFINE_OK for every complete answer, also with a status of 404 or 500. CONFINE_DENIED where host, port,
     * method or address are not declared, not allowed or not approved, with the reason in the log; of a redirect
     * likewise. CONFINE_CANCELLED where the call is to end or a sink stopped. CONFINE_FAILED where there is no answer or only
     * a part of it: the sinks may have got that. */
    int32_t (*fetch)(void *ctx, struct confine_bytes request, const struct confine_source *upload,
                     const struct confine_sink *head, const struct confine_sink *body);

    /* Opens a TCP connection. For `egress` of the kind `tcp`.
     *
     * target  JSON { "host": "db.example.org", "port": 5432 }. The host resolves the name.
     * fd      gets the connected socket: blocking, close-on-exec, and the plugin's to close. TLS, where it is wanted, is the
     *         plugin's. What passes over it does not pass through the host, which counts connections only.
     *
     * Returns as `fetch`; `*fd` is set with CONFINE_OK only. */
    int32_t (*connect)(void *ctx, struct confine_bytes target, int32_t *fd);

    /* Whether the call is to end: 0, or nonzero from then on until it returns. Costs a system call. */
    int32_t (*cancelled)(void *ctx);
};

/* What a plugin is. */
struct confine_egress {
    /* Of this struct, in bytes, as the plugin knows it: sizeof(struct confine_egress). */
    size_t size;
    /* CONFINE_EGRESS_ABI. */
    uint32_t abi;
    /* The manifest: the very bytes of the section `.confine.manifest`. */
    struct confine_bytes manifest;

    /* Makes a state, once for each thread, before its first call. NULL where there is nothing to make: `call` then gets a
     * state of NULL.
     *
     * host    to be used until `close` has returned.
     * config  JSON, from the user's lock file; `{}` where it says nothing.
     * state   where the state is written to, with CONFINE_OK only. The code of a failure answers the call that needed the
     *         state, and the next call tries again. */
    int32_t (*open)(const struct confine_host *host, struct confine_bytes config, void **state);

    /* Does what the tool is for. Never NULL.
     *
     * input  JSON. The host has not checked it against the schema of the manifest: the plugin does what it needs.
     * reply  gets the reply, in parts of any length: JSON, as the manifest's `output` says. Where it says stop, return:
     *        the reply is longer than the manifest's `reply_bytes`, or the call is cancelled.
     *
     * With a code other than CONFINE_OK nobody sees what was written. After a failure, too, the state goes on being used. */
    int32_t (*call)(void *state, struct confine_bytes input, const struct confine_sink *reply);

    /* Ends a state. May be NULL, and may be beyond `size`. */
    void (*close)(void *state);
};

/* A plugin whose `size` is smaller than this is refused: `call` is the last field that has to be there. */
#define CONFINE_EGRESS_SIZE_MIN offsetof(struct confine_egress, close)

/* Whether a struct of the other side has `field`: CONFINE_EGRESS_HAS(host, cancelled). Whatever came with ABI 1.0, which
 * is all there is in this header, needs no question. */
#define CONFINE_EGRESS_HAS(pointer, field) \
    ((pointer)->size >= (size_t)((const char *)(&(pointer)->field + 1) - (const char *)(pointer)))

#if defined(__GNUC__)
#define CONFINE_EGRESS_EXPORT __attribute__((visibility("default")))
#define CONFINE_EGRESS_SECTION __attribute__((section(".confine.manifest"), used))
#else
#error "confine_egress.h needs a compiler that knows sections: gcc or clang"
#endif

#if defined(__has_attribute)
#if __has_attribute(nonstring)
#define CONFINE_EGRESS_NONSTRING __attribute__((nonstring))
#endif
#endif
#ifndef CONFINE_EGRESS_NONSTRING
#define CONFINE_EGRESS_NONSTRING
#endif

/* Puts a manifest into its section, as `static const char name[]`, without a NUL after it. It is written as JSON, without
 * quotes around it. In C only: C++ has no arrays of characters without their NUL. */
#define CONFINE_EGRESS_MANIFEST(name, ...) \
    CONFINE_EGRESS_SECTION CONFINE_EGRESS_NONSTRING static const char name[sizeof(#__VA_ARGS__) - 1] = #__VA_ARGS__;

/* The initializer of a `struct confine_bytes` for a whole array, as that manifest is one. */
#define CONFINE_EGRESS_BYTES(array) { (const uint8_t *)(array), sizeof(array) }
/* A literal, without its NUL, as a `struct confine_bytes`. */
#define CONFINE_EGRESS_TEXT(literal) ((struct confine_bytes){ (const uint8_t *)(literal), sizeof(literal) - 1 })

/* The one symbol that a plugin exports, and defines. */
CONFINE_EGRESS_EXPORT extern const struct confine_egress CONFINE_EGRESS_V1;

#ifdef __cplusplus
}
#endif

#endif
