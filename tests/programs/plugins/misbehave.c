/* A plugin that does to its helper whatever its input says: {"do": "…"}, and for some "with": "…". What it would be
 * refused for importing, it finds while it runs. */
#include "confine_egress.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

CONFINE_EGRESS_MANIFEST(manifest, {
    "abi": 1, "name": "misbehave", "version": "0.1.0", "summary": "Do what no plugin should",
    "egress": [{ "kind": "http", "hosts": ["misbehave.example:443"], "methods": ["GET"] }],
    "input": { "type": "object", "required": ["do"], "additionalProperties": false,
               "properties": { "do": { "type": "string" }, "with": { "type": "string" } } },
    "output": { "type": "object" },
    "limits": { "reply_bytes": 1048576, "timeout_ms": 3000 }
})

static const struct confine_host *the_host; /* For a thread that is none of the host's. */

struct state {
    const struct confine_host *host;
};

static int32_t say(const struct confine_sink *reply, const char *name, const char *value) {
    char text[8192];
    int length = snprintf(text, sizeof text, "{\"%s\":\"%s\"}", name, value);
    if (length < 0 || (size_t)length >= sizeof text) return CONFINE_FAILED;
    struct confine_bytes part = { (const uint8_t *)text, (size_t)length };
    return reply->write(reply->ctx, part) ? CONFINE_CANCELLED : CONFINE_OK;
}

static int32_t number(const struct confine_sink *reply, long value) {
    char text[32];
    snprintf(text, sizeof text, "%ld", value);
    return say(reply, "number", text);
}

/* The value of a field that is a string without escapes. */
static void field(struct confine_bytes input, const char *name, char *value, size_t room) {
    char text[4096] = { 0 }, key[32];
    *value = 0;
    memcpy(text, input.ptr, input.len < sizeof text ? input.len : sizeof text - 1);
    snprintf(key, sizeof key, "\"%s\"", name);
    char *found = strstr(text, key);
    char *start = found ? strchr(found + strlen(key), '"') : NULL;
    char *end = start ? strchr(start + 1, '"') : NULL;
    if (end && (size_t)(end - start) <= room) {
        *end = 0;
        strcpy(value, start + 1);
    }
}

static void *sleeper(void *argument) {
    for (;;) pause();
    return argument;
}

static void *intruder(void *argument) {
    int32_t *code = argument;
    *code = the_host->fetch(the_host->ctx, CONFINE_EGRESS_TEXT("{}"), NULL, NULL, NULL);
    the_host->log(the_host->ctx, CONFINE_LOG_ERROR, CONFINE_EGRESS_TEXT("from a thread of its own"));
    return NULL;
}

static void nothing(int signal) { (void)signal; }

static int32_t storm(const struct confine_sink *reply) {
    int (*make)(void);
    *(void **)&make = dlsym(NULL, "fork");
    long made = 0;
    for (int round = 0; round < 6; round++) { /* 2^6 processes, and none waits for another. */
        int pid = make();
        if (pid == 0) made = -1000;
        if (pid > 0) made++;
    }
    if (made < 0) {
        setsid();
        for (;;) pause();
    }
    return number(reply, made);
}

static int32_t reach(const struct confine_sink *reply, int port) {
    int (*make)(int, int, int), (*join)(int, const void *, unsigned);
    *(void **)&make = dlsym(NULL, "socket");
    *(void **)&join = dlsym(NULL, "connect");
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    to.sin_addr.s_addr = htonl(0x7f000001);
    int fd = make(AF_INET, SOCK_STREAM, 0);
    int failed = fd < 0 || join(fd, &to, sizeof to) < 0 ? errno : 0;
    if (fd >= 0) close(fd);
    return number(reply, failed);
}

static int32_t environment(const struct confine_sink *reply) {
    extern char **environ;
    char all[4096] = "";
    for (char **one = environ; *one; one++) {
        if (strlen(all) + strlen(*one) + 2 < sizeof all) strcat(strcat(all, *one), ";");
    }
    return say(reply, "environment", all);
}

static int32_t content(const struct confine_sink *reply, const char *path) {
    char text[256] = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return number(reply, errno);
    ssize_t count = read(fd, text, sizeof text - 1);
    close(fd);
    return count < 0 ? number(reply, errno) : say(reply, "content", text);
}

static int32_t flood(const struct confine_sink *reply) {
    static uint8_t part[65536];
    memset(part, 'x', sizeof part);
    for (;;) reply->write(reply->ctx, (struct confine_bytes){ part, sizeof part });
}

static int32_t memory(const struct confine_sink *reply) {
    const size_t wanted = (size_t)4 << 30;
    char *all = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return number(reply, errno);
    for (size_t at = 0; at < wanted; at += 4096) all[at] = 1;
    return number(reply, 0);
}

static int32_t open_state(const struct confine_host *host, struct confine_bytes config, void **state) {
    char fails[16];
    field(config, "open", fails, sizeof fails);
    if (strcmp(fails, "fails") == 0) {
        host->log(host->ctx, CONFINE_LOG_ERROR, CONFINE_EGRESS_TEXT("told not to open"));
        return CONFINE_FAILED;
    }
    the_host = host;
    struct state *made = malloc(sizeof *made);
    if (!made) return CONFINE_FAILED;
    made->host = host;
    *state = made;
    return CONFINE_OK;
}

static int32_t call(void *state, struct confine_bytes input, const struct confine_sink *reply) {
    const struct confine_host *host = ((struct state *)state)->host;
    char what[32], with[4000];
    field(input, "do", what, sizeof what);
    field(input, "with", with, sizeof with);
#define DO(name) if (strcmp(what, name) == 0)
    DO("nothing") return say(reply, "did", "nothing");
    DO("crash") *(volatile int *)8 = 1;
    DO("abort") abort();
    DO("hang") for (;;) pause();
    DO("wait") {
        while (!host->cancelled(host->ctx)) usleep(1000);
        return CONFINE_CANCELLED;
    }
    DO("flood") return flood(reply);
    DO("exit") exit(0);
    DO("storm") return storm(reply);
    DO("threads") {
        pthread_t thread;
        for (int i = 0; i < 100; i++) pthread_create(&thread, NULL, sleeper, NULL);
        return say(reply, "did", "threads");
    }
    DO("intrude") {
        pthread_t thread;
        int32_t code = 0;
        pthread_create(&thread, NULL, intruder, &code);
        pthread_join(thread, NULL);
        return number(reply, code);
    }
    DO("memory") return memory(reply);
    DO("open") return content(reply, with);
    DO("socket") return reach(reply, atoi(with));
    DO("signals") {
        struct sigaction action = { .sa_handler = nothing };
        for (int i = 1; i < 32; i++) sigaction(i, &action, NULL);
        return say(reply, "did", "signals");
    }
    DO("alarm") {
        alarm(1);
        return say(reply, "did", "alarm");
    }
    DO("close") {
        for (int fd = 0; fd < 1024; fd++) close(fd);
        return say(reply, "did", "close");
    }
    DO("leak") {
        for (int i = 0; i < 48; i++) open("/dev/null", O_RDONLY);
        return say(reply, "did", "leak");
    }
    DO("environment") return environment(reply);
    DO("code") return 17;
    DO("denied") return CONFINE_DENIED;
    return CONFINE_BAD_INPUT;
}

static void close_state(void *state) { free(state); }

const struct confine_egress CONFINE_EGRESS_V1 = {
    .size = sizeof(struct confine_egress), .abi = CONFINE_EGRESS_ABI, .manifest = CONFINE_EGRESS_BYTES(manifest),
    .open = open_state, .call = call, .close = close_state,
};
