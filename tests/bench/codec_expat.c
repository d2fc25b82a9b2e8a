/*
 * codec_expat.c - what do we add to the time that expat needs for a document?
 *
 * xml/read    the golden session as XML to a value, and the value freed,
 *             against bare expat: no namespaces, empty handlers for the
 *             beginning and the end of elements and for text
 * xml/write   that value to a buffer that is used again, against our JSON of
 *             the value, pretty, so that nothing is copied as a whole
 */
#include "ours.h"

#include <expat.h>
#include <limits.h>
#include <string.h>

struct job {
    struct bench_text text; /* the session as XML */
    pdr_value *value;
    pdr_buf out, json;
};

static void read_ours(void *arg)
{
    const struct job *job = arg;

    pdr_value_free(ours_decode(pdr_xml_codec(), &job->text));
}

static void on_start(void *arg, const XML_Char *name, const XML_Char **attrs)
{
    (void)arg;
    (void)name;
    (void)attrs;
}

static void on_end(void *arg, const XML_Char *name)
{
    (void)arg;
    (void)name;
}

static void on_text(void *arg, const XML_Char *text, int len)
{
    (void)arg;
    (void)text;
    (void)len;
}

static void read_theirs(void *arg)
{
    const struct job *job = arg;
    XML_Memory_Handling_Suite memory = {bench_malloc, bench_realloc,
                                        bench_free};
    XML_Parser parser = XML_ParserCreate_MM(NULL, &memory, NULL);

    if (parser == NULL)
        bench_fail("no memory for expat");
    XML_SetElementHandler(parser, on_start, on_end);
    XML_SetCharacterDataHandler(parser, on_text);
    if (job->text.len > INT_MAX ||
        XML_Parse(parser, job->text.ptr, (int)job->text.len, 1) !=
            XML_STATUS_OK)
        bench_fail("expat refuses %s", job->text.name);
    XML_ParserFree(parser);
}

static void write_ours(void *arg)
{
    struct job *job = arg;

    ours_encode(&job->out, pdr_xml_codec(), job->value);
}

static void write_json(void *arg)
{
    struct job *job = arg;
    pdr_write_opts pretty = {.layout = PDR_PRETTY};

    pdr_buf_clear(&job->json);
    if (pdr_json_write(&job->json, job->value, &pretty, NULL) != PDR_OK)
        bench_fail("cannot write %s as JSON", job->text.name);
}

int main(int argc, char **argv)
{
    ours_start(argc, argv, "codec");
    bench_note("baseline_version", XML_ExpatVersion());
    bench_note("baseline_memory", "expat: freed blocks are kept, as ours");

    struct bench_text json = bench_load("session.json");
    struct job job = {.out = ours_buffer(2 * json.len),
                      .json = ours_buffer(2 * json.len)};
    job.text = ours_recode(pdr_xml_codec(), &json);
    job.value = ours_decode(pdr_xml_codec(), &job.text);
    struct bench_sums before = ours_read_sums(&json), after;
    memset(&after, 0, sizeof(after));
    ours_sums(&after, job.value);
    bench_sums_compare("xml/read", &after, &before);

    struct bench_case c = {.name = "xml/read",
                           .baseline = "expat",
                           .ours = read_ours,
                           .theirs = read_theirs,
                           .arg = &job,
                           .text = &job.text,
                           .wanted = 0.6};
    bench_run(&c);
    c.name = "xml/write";
    c.baseline = "our JSON";
    c.ours = write_ours;
    c.theirs = write_json;
    c.wanted = 0;
    bench_run(&c);
    return 0;
}
