/* What a model server sends gives the same pieces and the same verdict,
 * wherever it is split; what is handed over can be written down. The first byte
 * says where it is split. */
#include "fuzz.h"

#include "agent.h"
#include "net.h"

static pdr_rc on_update(const pdr_update *update, pdr_err *err, void *arg)
{
    (void)err;
    for (size_t i = 0; i < update->content_count; i++)
        MUST(pdr_json_write(arg, update->contents[i], NULL, NULL) == PDR_OK);
    return pdr_buf_append(arg, update->finish_reason, NULL);
}

static pdr_rc on_event(const struct pdr__sse_event *event, pdr_err *err,
                       void *arg)
{
    return event->is_keepalive
               ? PDR_OK
               : pdr__openai_chunk(arg, event->data, event->is_cut, err);
}

/* The same ids for calls in every run. */
static pdr_rc fill_same(void *ctx, void *out, size_t len, pdr_err *err)
{
    (void)ctx;
    (void)err;
    memset(out, 7, len);
    return PDR_OK;
}

static pdr_rc answer_read(pdr_buf *out, pdr_str bytes, size_t cut, pdr_err *err)
{
    static const struct pdr__rand same = {fill_same, NULL};
    pdr_str secret = pdr_str_c("sk-1");
    const struct pdr__secrets secrets = {&secret, 1, 1};
    const pdr_client_request request = {.shape = PDR_SHAPE_DOTNET};
    struct pdr__openai_answer answer;
    struct pdr__sse sse;
    pdr_rc rc = PDR_OK;

    pdr__openai_answer_init(&answer, &request, &secrets, on_update, out);
    answer.rand = &same;
    pdr__sse_init(&sse, on_event, &answer);
    PDR_TRY(pdr__sse_feed(&sse, pdr_str_n(bytes.ptr, cut), err));
    PDR_TRY(
        pdr__sse_feed(&sse, pdr_str_n(bytes.ptr + cut, bytes.len - cut), err));
    PDR_TRY(pdr__sse_end(&sse, err));
    PDR_TRY(pdr__openai_end(&answer, err));
done:
    pdr__sse_dispose(&sse);
    pdr__openai_answer_dispose(&answer);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_buf whole = PDR_BUF_INIT(SIZE_MAX), split = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (size == 0)
        return 0;
    pdr_str bytes = {(const char *)data + 1, size - 1};
    rc = answer_read(&whole, bytes, 0, &err);
    MUST(rc == PDR_OK || rc == PDR_EMODEL || rc == PDR_ELIMIT);
    MUST(strstr(err.message, "sk-1") == NULL);
    MUST(answer_read(&split, bytes, data[0] * bytes.len / 255, NULL) == rc);
    MUST(pdr_str_equal(pdr_buf_str(&whole), pdr_buf_str(&split)));
    pdr_buf_dispose(&split);
    pdr_buf_dispose(&whole);
    return 0;
}
