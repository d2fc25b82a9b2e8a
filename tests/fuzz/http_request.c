/*
 * http_request.c - any bytes, sent to a server over one connection, are
 * answered in HTTP, with statuses that its routes have, or the connection is
 * closed; and the next client is served as if nothing had been.
 *
 * A byte 0xFE is not sent: what came before it goes out at once, and the rest
 * with another packet. What a connection leaves in the store stays for the ones
 * after it, up to LIVES inputs.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "base.h"
#include "fuzz.h"
#include "http_place.h"

#define LIVES   2000u /* inputs that a server gets; then it is made anew */
#define SPLIT   0xFEu
#define SILENCE 20 /* ms; who says nothing for so long streams, or waits */

static const char script[] =
    "{\"replies\":[{\"user\":\"break\",\"fail\":\"no such model\"},"
    "{\"text\":[\"You \",\"said: {user}\"]}]}";

static struct http_place place;
static size_t inputs;

static void place_stop(void)
{
    http_place_end(&place);
}

static void place_renew(void)
{
    uint8_t digest[PDR_SHA256_BYTES];
    pdr_err err = PDR_ERR_INIT;

    if (inputs % LIVES == 0) {
        http_place_end(&place);
        MUST(http_place_begin(&place, script, 0, &err) == PDR_OK);
    }
    if (inputs++ > 0)
        return;
    /* OpenSSL frees what a thread has when the thread ends, so they have to end
     * before it cleans up: its own call of atexit() comes first. */
    MUST(pdr__sha256(digest, PDR_LIT(""), &err) == PDR_OK);
    (void)atexit(place_stop);
}

/* What routes reply (route.c, reply.c), and what libmicrohttpd says by itself
 * of requests that are not HTTP, or not of a kind that it knows. 500 is not
 * among them: no request may break the server. */
static bool is_known(unsigned long status)
{
    static const unsigned known[] = {100, 200, 201, 202, 204, 304, 308, 400,
                                     401, 403, 404, 405, 409, 410, 412, 413,
                                     414, 421, 422, 429, 431, 501, 502, 505};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i] == status)
            return true;
    }
    return false;
}

/* One reply of those in `at`. Gives what comes after it; NULL: its end cannot
 * be told, or it was cut. */
static const char *reply_check(const char *at, bool has_bodies)
{
    const char *end = strstr(at, "\r\n\r\n"), *length = NULL;
    unsigned long status = 0;

    if (end == NULL) {
        MUST(strncmp(at, "HTTP/1.1 ", 9) == 0 || strlen(at) < 9);
        return NULL;
    }
    MUST(strncmp(at, "HTTP/1.1 ", 9) == 0 || strncmp(at, "HTTP/1.0 ", 9) == 0);
    status = strtoul(at + 9, NULL, 10);
    if (!is_known(status))
        fprintf(stderr, "%s\n", at);
    MUST(is_known(status) && at[12] == ' ');
    for (const char *line = strstr(at, "\r\n") + 2; line < end;
         line = strstr(line, "\r\n") + 2) {
        size_t name = strcspn(line, ":\r\n \t");

        MUST(name > 0 && line[name] == ':');
        if (strncasecmp(line, "Content-Length:", 15) == 0)
            length = line + 15;
    }
    end += 4;
    /* libmicrohttpd 0.9.75 sends the head of a refusal of its own twice, then
     * the body, and closes the connection. */
    if (status >= 400 && strncmp(at, end, (size_t)(end - at)) == 0)
        end += end - at;
    if (status == 100 || status == 204 || status == 304)
        return end;
    if (length == NULL || !has_bodies)
        return NULL;
    return strtoul(length, NULL, 10) <= strlen(end)
               ? end + strtoul(length, NULL, 10)
               : NULL;
}

static void others_are_served(void)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
                                  "Connection: close\r\n\r\n";
    char text[2000];
    int fd = http_place_connect(&place);

    MUST(fd >= 0 && http_send(fd, request, sizeof(request) - 1));
    (void)http_receive(fd, text, sizeof(text), 20000);
    MUST(strncmp(text, "HTTP/1.1 200 ", 13) == 0);
    (void)close(fd);
}

static void input_send(int fd, const uint8_t *data, size_t size)
{
    while (size > 0) {
        const uint8_t *split = memchr(data, SPLIT, size);
        size_t len = split != NULL ? (size_t)(split - data) : size;

        if (!http_send(fd, data, len))
            return;
        len += split != NULL;
        data += len;
        size -= len;
    }
}

/* Is there a request whose reply says how long its body would be? */
static bool asks_for_head(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 4 <= size; i++) {
        if (data[i] == 'H' && memchr(data + i, 'D', size - i) != NULL)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[256 * 1024];
    const char *at = text;
    int fd = -1;

    place_renew();
    fd = http_place_connect(&place);
    MUST(fd >= 0);
    input_send(fd, data, size);
    (void)shutdown(fd, SHUT_WR);
    (void)http_receive(fd, text, sizeof(text), SILENCE);
    while (at != NULL && *at != '\0')
        at = reply_check(at, !asks_for_head(data, size));
    (void)close(fd);
    others_are_served();
    return 0;
}
