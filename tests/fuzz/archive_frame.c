/* A frame of any kind is refused before the first byte, or gives a document,
 * and the same one twice. The first byte says which rows there are. */
#include <perdure.h>

#include "fuzz.h"

enum { ENTRIES = 1, SLOTS = 2, PROPERTIES = 4, BARE = 8, OTHER_SHAPE = 16 };

static pdr_str text(const char *literal)
{
    return pdr_str_n(literal, strlen(literal));
}

/* False: the store does not take it. */
static bool fill(pdr_store *store, pdr_str frame, unsigned what)
{
    pdr_entry entries[3];
    pdr_slot slots[2];
    pdr_property properties[2];
    pdr_edit edit = {.ref = {.id = text("s")},
                     .frame = frame,
                     .entries = entries,
                     .entry_count = what & ENTRIES ? 3 : 0,
                     .slots = slots,
                     .slot_count = what & SLOTS ? 2 : 0,
                     .properties = properties,
                     .property_count = what & PROPERTIES ? 2 : 0};
    pdr_commit_options options = {.now_ms = 1};

    memset(entries, 0, sizeof(entries));
    memset(slots, 0, sizeof(slots));
    memset(properties, 0, sizeof(properties));
    for (size_t i = 0; i < 3; i++) {
        entries[i].kind = i == 0 ? PDR_ROW_REQUEST : PDR_ROW_MESSAGE;
        entries[i].shape = what & OTHER_SHAPE ? PDR_ROW_PYTHON : PDR_ROW_DOTNET;
        entries[i].body = text("{\"role\":\"user\",\"messages\":[{}]}");
    }
    entries[0].shape = PDR_ROW_STATE;
    entries[2].separator = text(" ,\n");
    slots[0].key = text("a");
    slots[0].value = text("[ ]");
    slots[1].key = text("InMemoryChatHistoryProvider");
    slots[1].value = text("1");
    properties[0].key = text("a");
    properties[0].value = text("1");
    properties[1].key = text("\"");
    properties[1].value = text("{}");
    return pdr_store_commit(NULL, store, &edit, 1, &options, NULL) == PDR_OK;
}

static void check(pdr_store *store, unsigned what)
{
    pdr_export_opts opts = {.ref = {.id = text("s")},
                            .bare = (what & BARE) != 0};
    pdr_export_report report = {0};
    pdr_buf once = PDR_BUF_INIT(SIZE_MAX), again = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_export(&report, store, &opts, &err, pdr_write_buf, &once);

    MUST(rc == PDR_OK || rc == PDR_ECORRUPT || rc == PDR_EINVALID);
    if (rc == PDR_ECORRUPT)
        MUST(strcmp(err.reason, "bad_frame") == 0 && once.len == 0);
    if (rc == PDR_EINVALID)
        MUST(strcmp(err.reason, "cannot_export") == 0);
    if (rc == PDR_OK)
        MUST(report.bytes == once.len);
    MUST(pdr_export(NULL, store, &opts, NULL, pdr_write_buf, &again) == rc);
    MUST(pdr_str_equal(pdr_buf_str(&once), pdr_buf_str(&again)));
    pdr_buf_dispose(&once);
    pdr_buf_dispose(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_store *store = NULL;

    if (size == 0)
        return 0;
    MUST(pdr_store_open(&store, "memory:", NULL) == PDR_OK);
    if (fill(store, pdr_str_n((const char *)data + 1, size - 1), data[0]))
        check(store, data[0]);
    pdr_store_close(store);
    return 0;
}
