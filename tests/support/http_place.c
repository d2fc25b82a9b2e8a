/* http_place.c - see http_place.h. */
#include "http_place.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <perdure/client.h>

static pdr_rc agent_make(pdr_agent **out, const char *script, pdr_err *err)
{
    pdr_agent_parts parts = {.name = pdr_str_c("Harbour")};
    pdr_rc rc = pdr_client_script(&parts.client, pdr_str_c(script), err);

    if (rc == PDR_OK)
        rc = pdr_agent_new(out, &parts, err);
    pdr_client_free(parts.client);
    return rc;
}

/* `store` and `settings` may be NULL. */
static pdr_rc place_begin(struct http_place *place, pdr_store *store,
                          const char *script, uint32_t timeout_ms,
                          const pdr_server_opts *settings, pdr_err *err)
{
    const char *tmp = getenv("TMPDIR");
    char address[240];
    const char *listen[] = {address, NULL};
    pdr_service_agent agent = {.durable.timeout_ms = timeout_ms};
    pdr_service_opts service = {.agents = &agent, .count = 1};
    pdr_server_opts opts = {.wait_ms = 10000, .threads = 2};
    pdr_rc rc = PDR_OK;

    if (settings != NULL)
        opts = *settings;
    opts.listen = listen;
    *place = (struct http_place){.store = store};
    (void)snprintf(place->folder, sizeof(place->folder), "%s/place-XXXXXX",
                   tmp != NULL && strlen(tmp) < 60 ? tmp : "/tmp");
    if (mkdtemp(place->folder) == NULL)
        abort();
    (void)snprintf(place->path, sizeof(place->path), "%s/s", place->folder);
    (void)snprintf(address, sizeof(address), "unix:%s", place->path);
    if (store == NULL)
        rc = pdr_store_open(&place->store, "memory:", err);
    if (rc == PDR_OK)
        rc = agent_make(&place->agent, script, err);
    agent.durable.agent = place->agent;
    service.store = place->store;
    if (rc == PDR_OK)
        rc = pdr_service_new(&place->service, &service, err);
    if (rc == PDR_OK)
        rc = pdr_server_new(&place->server, place->service, &opts, err);
    if (rc == PDR_OK)
        rc = pdr_service_start(place->service, err);
    if (rc == PDR_OK)
        rc = pdr_server_start(place->server, err);
    return rc;
}

pdr_rc http_place_begin(struct http_place *place, const char *script,
                        uint32_t timeout_ms, pdr_err *err)
{
    return place_begin(place, NULL, script, timeout_ms, NULL, err);
}

pdr_rc http_place_begin_on(struct http_place *place, pdr_store *store,
                           const char *script, const pdr_server_opts *opts,
                           pdr_err *err)
{
    return place_begin(place, store, script, 0, opts, err);
}

void http_place_end(struct http_place *place)
{
    if (place->server != NULL &&
        pdr_server_stop(place->server, PDR_STOP_FINISH, 5000, NULL) != PDR_OK)
        fprintf(stderr, "the server did not stop in time\n");
    pdr_server_free(place->server);
    pdr_service_free(place->service);
    pdr_agent_free(place->agent);
    pdr_store_close(place->store);
    (void)unlink(place->path);
    (void)rmdir(place->folder);
}

int http_place_connect(const struct http_place *place)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.100s",
                   place->path);
    if (fd >= 0 &&
        connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

bool http_send(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;

    while (len > 0) {
        ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        at += sent;
        len -= (size_t)sent;
    }
    return true;
}

size_t http_receive(int fd, char *out, size_t room, int silence_ms)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    size_t len = 0;

    while (len < room - 1 && poll(&one, 1, silence_ms) > 0) {
        ssize_t got = recv(fd, out + len, room - 1 - len, 0);

        if (got <= 0)
            break;
        len += (size_t)got;
    }
    out[len] = '\0';
    return len;
}
