/* What may be a commit and what may be a query: each rule, and each limit one
 * below and one above. */
#include "test.h"

#include "store_step.h"

#include "store.h"

#define A16  "aaaaaaaaaaaaaaaa"
#define A128 A16 A16 A16 A16 A16 A16 A16 A16

/* Some 64 MiB of text that can be cut anywhere: made once, never released
 * before the end. */
static const char *long_text(void)
{
    static char *text;

    if (text == NULL) {
        text = malloc(PDR_MAX_ROW_BYTES + 2);
        assert_non_null(text);
        memset(text, '1', PDR_MAX_ROW_BYTES + 2);
    }
    return text;
}

static pdr_str digits(size_t len)
{
    return pdr_str_n(long_text(), len);
}

static pdr_edit edit_at(uint64_t revision)
{
    pdr_edit edit = {.ref = {{NULL, 0}, PDR_LIT("trip-42")},
                     .revision = revision};

    return edit;
}

static size_t bytes_of(const pdr_edit *edits, size_t count)
{
    size_t bytes = 0;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr__edits_check(&bytes, edits, count, &err);

    if (rc != PDR_OK)
        print_error("refused: %s at %s\n", err.message, err.path);
    ASSERT_RC(PDR_OK, rc);
    return bytes;
}

static void good(const pdr_edit *edit)
{
    ASSERT(bytes_of(edit, 1) > 0);
}

static void refused(const pdr_edit *edits, size_t count, const char *reason,
                    const char *path)
{
    size_t bytes = 7;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(pdr__edits_check(&bytes, edits, count, &err) != PDR_OK);
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    ASSERT(err.message[0] != '\0');
    ASSERT_SIZE(7, bytes);
    ASSERT(pdr__edits_check(&bytes, edits, count, NULL) != PDR_OK);
}

static void bad(const pdr_edit *edit, const char *reason, const char *path)
{
    refused(edit, 1, reason, path);
}

/* --- references ------------------------------------------------------------
 */

static pdr_rc check_ref(pdr_str tenant, pdr_str id)
{
    pdr_ref ref = {tenant, id}, out = {{NULL, 0}, {NULL, 0}};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr__ref_check(&out, &ref, &err);

    if (rc != PDR_OK) {
        ASSERT_STR("bad_ref", err.reason);
        ASSERT(out.id.ptr == NULL);
    } else {
        ASSERT(pdr_str_equal(id, out.id));
    }
    return rc;
}

TEST(ref_check, fills_in_the_default_tenant)
{
    pdr_ref ref = {{NULL, 0}, PDR_LIT("a")}, out;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__ref_check(&out, &ref, &err));
    ASSERT_TEXT("default", out.tenant);
    ASSERT_TEXT("a", out.id);
    ref.tenant = PDR_LIT("t");
    ASSERT_RC(PDR_OK, pdr__ref_check(&out, &ref, &err));
    ASSERT_TEXT("t", out.tenant);
    ASSERT_RC(PDR_OK, pdr__ref_check(&ref, &ref, &err));
}

TEST(ref_check, knows_the_lengths_of_tenant_and_id)
{
    pdr_str id = PDR_LIT("a"), tenant = PDR_LIT("t");

    ASSERT_RC(PDR_OK, check_ref(digits(1), id));
    ASSERT_RC(PDR_OK, check_ref(digits(128), id));
    ASSERT_RC(PDR_EINVALID, check_ref(digits(129), id));
    ASSERT_RC(PDR_EINVALID, check_ref(digits(0), id));
    ASSERT_RC(PDR_EINVALID, check_ref(pdr_str_n(NULL, 3), id));
    ASSERT_RC(PDR_OK, check_ref(tenant, digits(1)));
    ASSERT_RC(PDR_OK, check_ref(tenant, digits(1024)));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, digits(1025)));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, digits(0)));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, pdr_str_n(NULL, 0)));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, pdr_str_n(NULL, 3)));
}

TEST(ref_check, takes_any_utf8_but_no_nul)
{
    pdr_str id = PDR_LIT("a"), tenant = PDR_LIT("t");

    ASSERT_RC(PDR_OK, check_ref(tenant, PDR_LIT("\xC3\xA9\n\x01/ ")));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, PDR_LIT("a\0b")));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, PDR_LIT("a\xC3")));
    ASSERT_RC(PDR_EINVALID, check_ref(PDR_LIT("\xED\xA0\x80"), id));
    ASSERT_RC(PDR_EINVALID, check_ref(PDR_LIT("\0"), id));
}

TEST(ref_check, keeps_the_at_sign_for_durable_agents)
{
    pdr_str tenant = PDR_LIT("t");

    ASSERT_RC(PDR_OK, check_ref(tenant, PDR_LIT("@dafx-a@k")));
    ASSERT_RC(PDR_OK, check_ref(tenant, PDR_LIT("@dafx-a@k@l@")));
    ASSERT_RC(PDR_OK, check_ref(tenant, PDR_LIT("a@b")));
    ASSERT_RC(PDR_OK, check_ref(tenant, PDR_LIT("@dafx-" A128 "@k")));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, PDR_LIT("@dafx-a" A128 "@k")));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, PDR_LIT("@")));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, PDR_LIT("@a@k")));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, PDR_LIT("@dafx-")));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, PDR_LIT("@dafx-a")));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, PDR_LIT("@dafx-@k")));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, PDR_LIT("@dafx-a@")));
    ASSERT_RC(PDR_EINVALID, check_ref(tenant, PDR_LIT("@Dafx-a@k")));
}

/* --- a commit as a whole ---------------------------------------------------
 */

TEST(edits_check, counts_the_bytes_of_all_texts)
{
    pdr_edit edits[2] = {edit_at(1), edit_at(0)};
    pdr_entry entry = {.correlation_id = PDR_LIT("c1"),
                       .separator = PDR_LIT(",\n"),
                       .body = PDR_LIT("{}")};
    pdr_slot slot = {.key = PDR_LIT("k"), .value = PDR_LIT("[1]")};

    ASSERT_SIZE(7 + 7, bytes_of(edits, 1)); /* "default", "trip-42" */
    edits[0].entries = &entry;
    edits[0].entry_count = 1;
    ASSERT_SIZE(14 + 6, bytes_of(edits, 1));
    edits[1].ref.tenant = PDR_LIT("t");
    edits[1].slots = &slot;
    edits[1].slot_count = 1;
    edits[1].frame = PDR_LIT("{}");
    ASSERT_SIZE(20 + 8 + 4 + 2, bytes_of(edits, 2));
}

TEST(edits_check, takes_one_to_a_thousand_edits)
{
    static char names[PDR_MAX_COMMIT_EDITS + 1][8];
    static pdr_edit edits[PDR_MAX_COMMIT_EDITS + 1];

    for (unsigned i = 0; i <= PDR_MAX_COMMIT_EDITS; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "s%u", i);
        edits[i] = edit_at(1);
        edits[i].ref.id = pdr_str_c(names[i]);
    }
    ASSERT(bytes_of(edits, PDR_MAX_COMMIT_EDITS) > 0);
    refused(edits, PDR_MAX_COMMIT_EDITS + 1, "commit_too_large", "");
    refused(edits, 0, "bad_edit", "");
}

TEST(edits_check, refuses_two_edits_of_one_session)
{
    pdr_edit edits[3] = {edit_at(1), edit_at(1), edit_at(1)};

    edits[1].ref.id = PDR_LIT("trip-43");
    edits[2].ref.tenant = PDR_LIT("other");
    ASSERT(bytes_of(edits, 3) > 0);
    edits[2].ref.tenant = PDR_LIT("default");
    refused(edits, 3, "bad_edit", "/edits/2/ref");
}

TEST(edits_check, names_the_edit_and_the_session_that_is_wrong)
{
    pdr_edit edits[2] = {edit_at(1), edit_at(1)};
    pdr_entry entries[2] = {{.body = PDR_LIT("{}")}, {.body = PDR_LIT("{]")}};
    size_t bytes = 0;
    pdr_err err = PDR_ERR_INIT;

    edits[1].ref.id = PDR_LIT("b");
    edits[1].entries = entries;
    edits[1].entry_count = 2;
    ASSERT_RC(PDR_EINVALID, pdr__edits_check(&bytes, edits, 2, &err));
    ASSERT_STR("/edits/1/entries/1/body", err.path);
    ASSERT_STR("session 'b': a ']' at byte 1 closes a '{'", err.message);
    ASSERT_INT(1, err.offset);
    edits[1].ref.id = PDR_LIT("");
    refused(edits, 2, "bad_ref", "/edits/1/ref");
}

TEST_OOM(edits_check, cleans_up_after_any_failed_allocation)
{
    static char names[20][4];
    pdr_edit edits[2] = {edit_at(1), edit_at(1)};
    pdr_slot slots[20];
    size_t bytes = 0;
    pdr_rc rc = PDR_OK;

    for (int i = 0; i < 20; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "k%d", i);
        slots[i] = (pdr_slot){.key = pdr_str_c(names[i])};
    }
    edits[0].slots = slots;
    edits[0].slot_count = 20;
    edits[1].ref.id = PDR_LIT("b");
    rc = pdr__edits_check(&bytes, edits, 2, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
}

/* --- bounds ----------------------------------------------------------------
 */

/* Edits that move the revision, one way each. */
static pdr_edit moving(unsigned way, uint64_t revision)
{
    static const pdr_entry entry = {.body = {"{}", 2}};
    static const pdr_slot slot = {.key = {"k", 1}};
    static const pdr_property property = {.key = {"k", 1}};
    pdr_edit edit = edit_at(revision);

    edit.set_state = way == 0;
    edit.expiry = way == 1 ? PDR_EXPIRY_SET : PDR_EXPIRY_KEEP;
    edit.frame = way == 2 ? PDR_LIT("{}") : pdr_str_n(NULL, 0);
    edit.entries = &entry;
    edit.entry_count = way == 3;
    edit.slots = &slot;
    edit.slot_count = way == 4;
    edit.properties = &property;
    edit.property_count = way == 5;
    return edit;
}

/* Edits of work, completions and leases, one way each. */
static pdr_edit working(unsigned way, uint64_t revision)
{
    static const pdr_completion completion = {.correlation_id = {"c", 1}};
    static const pdr_work work = {.kind = {"run", 3}, .body = {"{}", 2}};
    static const uint64_t number = 3;
    pdr_edit edit = edit_at(revision);

    edit.completions = &completion;
    edit.completion_count = way == 0;
    edit.journal_through = way == 1;
    edit.stream_through = way == 2;
    edit.settle = &number;
    edit.settle_count = way == 3;
    edit.journal = edit.stream = edit.inbox = &work;
    edit.journal_count = way == 4;
    edit.stream_count = way == 5;
    edit.inbox_count = way == 6;
    edit.lease.verb = way == 7 ? PDR_LEASE_RELEASE : PDR_LEASE_KEEP;
    edit.lease.fence = way == 7 ? 9 : 0;
    return edit;
}

TEST(edits_check, wants_a_revision_for_what_moves_it)
{
    for (unsigned way = 0; way < 6; way++) {
        pdr_edit edit = moving(way, 1);

        good(&edit);
        edit.revision = 0;
        good(&edit);
        edit.revision = PDR_ANY_REVISION;
        bad(&edit, "bad_edit", "/edits/0/revision");
    }
    for (unsigned way = 0; way < 8; way++) {
        pdr_edit edit = working(way, PDR_ANY_REVISION);

        good(&edit);
    }
}

TEST(edits_check, lets_a_removal_do_nothing_else)
{
    pdr_edit edit = edit_at(3);

    edit.remove = true;
    edit.epoch = 2;
    edit.lease.fence = 5;
    good(&edit);
    for (unsigned way = 0; way < 6; way++) {
        edit = moving(way, 3);
        edit.remove = true;
        bad(&edit, "bad_edit", "/edits/0/remove");
    }
    for (unsigned way = 0; way < 8; way++) {
        edit = working(way, 3);
        edit.remove = true;
        bad(&edit, "bad_edit", "/edits/0/remove");
    }
}

TEST(edits_check, wants_a_revision_for_a_removal)
{
    pdr_edit edit = edit_at(0);

    edit.remove = true;
    bad(&edit, "bad_edit", "/edits/0/remove");
    edit.revision = PDR_ANY_REVISION;
    bad(&edit, "bad_edit", "/edits/0/remove");
}

TEST(edits_check, refuses_bounds_that_contradict_each_other)
{
    pdr_edit edit = edit_at(PDR_ANY_REVISION);

    edit.or_create = true;
    good(&edit);
    edit.revision = 1;
    bad(&edit, "bad_edit", "/edits/0/or_create");
    edit = edit_at(0);
    edit.epoch = 4;
    bad(&edit, "bad_edit", "/edits/0/epoch");
}

/* --- the head --------------------------------------------------------------
 */

TEST(edits_check, knows_the_verbs_of_leases)
{
    pdr_edit edit = edit_at(1);

    edit.lease.verb = PDR_LEASE_TAKE;
    bad(&edit, "bad_edit", "/edits/0/lease/owner");
    edit.lease.owner = digits(128);
    good(&edit);
    edit.lease.owner = digits(129);
    bad(&edit, "bad_edit", "/edits/0/lease/owner");
    edit.lease.owner = digits(0);
    bad(&edit, "bad_edit", "/edits/0/lease/owner");
    edit.lease.owner = digits(1);
    edit.lease.fence = 1;
    bad(&edit, "bad_edit", "/edits/0/lease/fence");
    edit.lease.verb = PDR_LEASE_RENEW;
    good(&edit);
    edit.lease.verb = PDR_LEASE_RELEASE;
    good(&edit);
    edit.lease.fence = 0;
    bad(&edit, "bad_edit", "/edits/0/lease/fence");
    edit.lease.verb = PDR_LEASE_RENEW;
    bad(&edit, "bad_edit", "/edits/0/lease/fence");
    edit.lease.verb = (pdr_lease_verb)4;
    bad(&edit, "bad_edit", "/edits/0/lease/verb");
}

TEST(edits_check, refuses_numbers_that_are_no_value)
{
    pdr_edit edit = edit_at(1);
    pdr_entry entry = {.body = PDR_LIT("1")};

    edit.state = (pdr_session_state)4;
    good(&edit); /* it is not set */
    edit.set_state = true;
    bad(&edit, "bad_edit", "/edits/0/state");
    edit.state = PDR_SESSION_EXPIRED;
    good(&edit);
    edit.expiry = (pdr_expiry_verb)3;
    bad(&edit, "bad_edit", "/edits/0/expiry");
    edit.expiry = PDR_EXPIRY_CLEAR;
    edit.entries = &entry;
    edit.entry_count = 1;
    entry.kind = PDR_ROW_OTHER;
    entry.shape = PDR_ROW_SK;
    good(&edit);
    entry.kind = (pdr_row_kind)5;
    bad(&edit, "bad_edit", "/edits/0/entries/0/kind");
    entry.kind = PDR_ROW_OTHER;
    entry.shape = (pdr_row_shape)4;
    bad(&edit, "bad_edit", "/edits/0/entries/0/shape");
}

TEST(edits_check, knows_the_lengths_of_the_words_of_a_head)
{
    struct {
        pdr_str *text;
        const char *path;
    } cases[3];
    pdr_edit edit = edit_at(0);

    cases[0].text = &edit.agent;
    cases[0].path = "/edits/0/agent";
    cases[1].text = &edit.kind;
    cases[1].path = "/edits/0/kind";
    cases[2].text = &edit.schema_version;
    cases[2].path = "/edits/0/schema_version";
    for (size_t i = 0; i < 3; i++) {
        *cases[i].text = digits(1);
        good(&edit);
        *cases[i].text = digits(128);
        good(&edit);
        *cases[i].text = digits(129);
        bad(&edit, "bad_edit", cases[i].path);
        *cases[i].text = digits(0);
        bad(&edit, "bad_edit", cases[i].path);
        *cases[i].text = PDR_LIT("a\xFF");
        bad(&edit, "bad_edit", cases[i].path);
        *cases[i].text = PDR_LIT("a\0");
        bad(&edit, "bad_edit", cases[i].path);
        *cases[i].text = pdr_str_n(NULL, 4);
        bad(&edit, "bad_edit", cases[i].path);
        *cases[i].text = pdr_str_n(NULL, 0);
    }
}

TEST(edits_check, wants_json_as_frame)
{
    pdr_edit edit = edit_at(1);

    edit.frame = PDR_LIT("{\"prefix\":\"{\"}");
    good(&edit);
    edit.frame = PDR_LIT("");
    bad(&edit, "bad_body", "/edits/0/frame");
    edit.frame = PDR_LIT("{");
    bad(&edit, "bad_body", "/edits/0/frame");
    edit.frame = pdr_str_n(NULL, 2);
    bad(&edit, "bad_edit", "/edits/0/frame");
}

/* --- rows ------------------------------------------------------------------
 */

TEST(edits_check, refuses_lists_without_a_pointer)
{
    const char *const paths[] = {"/edits/0/entries",    "/edits/0/slots",
                                 "/edits/0/properties", "/edits/0/journal",
                                 "/edits/0/stream",     "/edits/0/inbox",
                                 "/edits/0/settle",     "/edits/0/completions"};

    for (unsigned i = 0; i < 8; i++) {
        pdr_edit edit = edit_at(1);

        edit.entry_count = i == 0;
        edit.slot_count = i == 1;
        edit.property_count = i == 2;
        edit.journal_count = i == 3;
        edit.stream_count = i == 4;
        edit.inbox_count = i == 5;
        edit.settle_count = i == 6;
        edit.completion_count = i == 7;
        bad(&edit, "bad_edit", paths[i]);
    }
}

TEST(edits_check, knows_what_an_entry_is)
{
    pdr_entry entry = {.body = PDR_LIT("{}")};
    pdr_edit edit = edit_at(1);

    edit.entries = &entry;
    edit.entry_count = 1;
    good(&edit);
    entry.correlation_id = digits(1024);
    good(&edit);
    entry.correlation_id = digits(1025);
    bad(&edit, "bad_edit", "/edits/0/entries/0/correlation_id");
    entry.correlation_id = digits(0);
    bad(&edit, "bad_edit", "/edits/0/entries/0/correlation_id");
    entry.correlation_id = PDR_LIT("a\0b");
    bad(&edit, "bad_edit", "/edits/0/entries/0/correlation_id");
    entry.correlation_id = pdr_str_n(NULL, 0);
    entry.body = pdr_str_n(NULL, 0);
    bad(&edit, "bad_body", "/edits/0/entries/0/body");
    entry.body = PDR_LIT("{},{}");
    bad(&edit, "bad_body", "/edits/0/entries/0/body");
}

TEST(edits_check, takes_white_space_and_a_comma_as_separator)
{
    const pdr_str goods[] = {PDR_LIT(""), PDR_LIT(","), PDR_LIT(" ,\r\n\t ")};
    const pdr_str bads[] = {PDR_LIT(",,"), PDR_LIT("]"), PDR_LIT(", x"),
                            PDR_LIT("\0"), PDR_LIT("\xC2\xA0")};
    pdr_entry entry = {.body = PDR_LIT("{}")};
    pdr_edit edit = edit_at(1);

    edit.entries = &entry;
    edit.entry_count = 1;
    for (size_t i = 0; i < PDR_COUNT(goods); i++) {
        entry.separator = goods[i];
        good(&edit);
    }
    for (size_t i = 0; i < PDR_COUNT(bads); i++) {
        entry.separator = bads[i];
        bad(&edit, "bad_body", "/edits/0/entries/0/separator");
    }
    entry.separator = pdr_str_n(NULL, 1);
    bad(&edit, "bad_edit", "/edits/0/entries/0/separator");
}

TEST(edits_check, takes_as_slot_key_what_stands_in_a_json_string)
{
    const pdr_str goods[] = {PDR_LIT(""), PDR_LIT("a"), PDR_LIT("\xC3\xA9"),
                             PDR_LIT("\\u0000\\ud800"),
                             PDR_LIT("\\\"\\\\\\/\\b\\f\\n\\r\\tA\\uABcd")};
    const pdr_str bads[] = {
        PDR_LIT("\""),      PDR_LIT("\\"),      PDR_LIT("\\x"),
        PDR_LIT("\\u12"),   PDR_LIT("\\u123g"), PDR_LIT("\\ug123"),
        PDR_LIT("\\u1g23"), PDR_LIT("\\u12g3"), PDR_LIT("\n"),
        PDR_LIT("a\0"),     PDR_LIT("\\\0"),    PDR_LIT("\xFF")};
    pdr_slot slot = {.value = PDR_LIT("{}")};
    pdr_edit edit = edit_at(1);

    edit.slots = &slot;
    edit.slot_count = 1;
    for (size_t i = 0; i < PDR_COUNT(goods); i++) {
        slot.key = goods[i];
        good(&edit);
    }
    for (size_t i = 0; i < PDR_COUNT(bads); i++) {
        slot.key = bads[i];
        bad(&edit, "bad_edit", "/edits/0/slots/0/key");
    }
    slot.key = pdr_str_n(NULL, 0);
    bad(&edit, "bad_edit", "/edits/0/slots/0/key");
}

TEST(edits_check, knows_what_values_of_slots_and_properties_are)
{
    pdr_slot slot = {.key = PDR_LIT("k")};
    pdr_property property = {.key = PDR_LIT("k")};
    pdr_edit edit = edit_at(1);

    edit.slots = &slot;
    edit.slot_count = 1;
    edit.properties = &property;
    edit.property_count = 1;
    good(&edit); /* both are removed */
    slot.value = property.value = PDR_LIT("\"v\"");
    good(&edit);
    slot.value = PDR_LIT("");
    bad(&edit, "bad_body", "/edits/0/slots/0/value");
    slot.value = pdr_str_n(NULL, 5);
    bad(&edit, "bad_edit", "/edits/0/slots/0/value");
    slot.value = PDR_LIT("1");
    property.value = PDR_LIT("v v");
    bad(&edit, "bad_body", "/edits/0/properties/0/value");
    property.value = pdr_str_n(NULL, 5);
    bad(&edit, "bad_edit", "/edits/0/properties/0/value");
}

TEST(edits_check, knows_the_lengths_of_a_property)
{
    pdr_property property = {.value = PDR_LIT("1")};
    pdr_edit edit = edit_at(1);

    edit.properties = &property;
    edit.property_count = 1;
    bad(&edit, "bad_edit", "/edits/0/properties/0/key");
    property.key = digits(1);
    good(&edit);
    property.key = digits(1024);
    good(&edit);
    property.key = digits(1025);
    bad(&edit, "bad_edit", "/edits/0/properties/0/key");
    property.key = PDR_LIT("k\0");
    bad(&edit, "bad_edit", "/edits/0/properties/0/key");
    property.key = PDR_LIT("k");
    property.match = digits(0);
    good(&edit);
    property.match = digits(1024);
    good(&edit);
    property.match = digits(1025);
    bad(&edit, "bad_edit", "/edits/0/properties/0/match");
}

TEST(edits_check, knows_what_a_completion_is)
{
    pdr_completion completion = {.fingerprint = digits(64)};
    pdr_edit edit = edit_at(PDR_ANY_REVISION);

    edit.completions = &completion;
    edit.completion_count = 1;
    bad(&edit, "bad_edit", "/edits/0/completions/0/correlation_id");
    completion.correlation_id = digits(1024);
    good(&edit);
    completion.correlation_id = digits(1025);
    bad(&edit, "bad_edit", "/edits/0/completions/0/correlation_id");
    completion.correlation_id = digits(1);
    completion.outcome = PDR_LIT("{}");
    good(&edit);
    completion.fingerprint = digits(65);
    bad(&edit, "bad_edit", "/edits/0/completions/0/fingerprint");
    completion.fingerprint = pdr_str_n(NULL, 0);
    completion.outcome = PDR_LIT("}");
    bad(&edit, "bad_body", "/edits/0/completions/0/outcome");
}

TEST(edits_check, knows_what_work_is)
{
    const char *const lists[] = {"journal", "stream", "inbox"};

    for (unsigned i = 0; i < 3; i++) {
        pdr_work work = {.body = PDR_LIT("{}")};
        pdr_edit edit = working(4 + i, PDR_ANY_REVISION);
        char path[64];

        edit.journal = edit.stream = edit.inbox = &work;
        (void)snprintf(path, sizeof(path), "/edits/0/%s/0/kind", lists[i]);
        bad(&edit, "bad_edit", path);
        work.kind = digits(128);
        good(&edit);
        work.kind = digits(129);
        bad(&edit, "bad_edit", path);
        work.kind = digits(1);
        work.correlation_id = digits(1024);
        good(&edit);
        work.correlation_id = digits(1025);
        (void)snprintf(path, sizeof(path), "/edits/0/%s/0/correlation_id",
                       lists[i]);
        bad(&edit, "bad_edit", path);
        work.correlation_id = pdr_str_n(NULL, 0);
        work.body = PDR_LIT("\"");
        (void)snprintf(path, sizeof(path), "/edits/0/%s/0/body", lists[i]);
        bad(&edit, "bad_body", path);
    }
}

/* --- each row once ---------------------------------------------------------
 */

#define MANY 40u

/* `count` keys that differ, but for the last one if `repeats`. */
static void name_rows(char names[MANY][24], size_t count, bool repeats)
{
    for (size_t i = 0; i < count; i++)
        (void)snprintf(names[i], sizeof(names[i]), "k%zu",
                       repeats && i + 1 == count ? 0 : i);
}

static void try_rows(size_t count, bool repeats, unsigned list)
{
    static const char *const lists[] = {"slots", "properties", "completions",
                                        "settle"};
    char names[MANY][24], path[64];
    pdr_slot slots[MANY];
    pdr_property properties[MANY];
    pdr_completion completions[MANY];
    uint64_t settle[MANY];
    pdr_edit edit = edit_at(1);

    name_rows(names, count, repeats);
    for (size_t i = 0; i < count; i++) {
        slots[i] = (pdr_slot){.key = pdr_str_c(names[i])};
        properties[i] = (pdr_property){.key = pdr_str_c(names[i])};
        completions[i] = (pdr_completion){.correlation_id = slots[i].key};
        settle[i] = repeats && i + 1 == count ? 1 : i + 1;
    }
    edit.slots = slots;
    edit.slot_count = list == 0 ? count : 0;
    edit.properties = properties;
    edit.property_count = list == 1 ? count : 0;
    edit.completions = completions;
    edit.completion_count = list == 2 ? count : 0;
    edit.settle = settle;
    edit.settle_count = list == 3 ? count : 0;
    (void)snprintf(path, sizeof(path), "/edits/0/%s/%zu", lists[list],
                   count - 1);
    if (repeats)
        bad(&edit, "bad_edit", path);
    else
        good(&edit);
}

TEST(edits_check, refuses_a_row_that_is_named_twice)
{
    const size_t counts[] = {2, 3, 16, 17, MANY};

    for (unsigned list = 0; list < 4; list++) {
        for (size_t i = 0; i < PDR_COUNT(counts); i++) {
            try_rows(counts[i], false, list);
            try_rows(counts[i], true, list);
        }
    }
}

/* --- limits ----------------------------------------------------------------
 */

/* A body of `depth` levels. */
static pdr_str nested(char room[300], size_t depth)
{
    memset(room, '[', depth);
    memset(room + depth, ']', depth);
    return pdr_str_n(room, 2 * depth);
}

TEST(edits_check, refuses_what_would_stand_too_deep_in_its_document)
{
    char room[300];
    pdr_entry entry = {.shape = PDR_ROW_STATE};
    pdr_slot slot = {.key = PDR_LIT("k")};
    pdr_edit edit = edit_at(1);

    edit.entries = &entry;
    edit.entry_count = 1;
    entry.body = nested(room, 125);
    good(&edit);
    entry.body = nested(room, 126);
    bad(&edit, "too_deep", "/edits/0/entries/0/body");
    entry.shape = PDR_ROW_DOTNET;
    entry.body = nested(room, 124);
    good(&edit);
    entry.body = nested(room, 125);
    bad(&edit, "too_deep", "/edits/0/entries/0/body");
    edit.entry_count = 0;
    edit.slots = &slot;
    edit.slot_count = 1;
    slot.value = nested(room, 126);
    good(&edit);
    slot.value = nested(room, 127);
    bad(&edit, "too_deep", "/edits/0/slots/0/value");
    edit.slot_count = 0;
    edit.frame = nested(room, 128);
    good(&edit);
    edit.frame = nested(room, 129);
    bad(&edit, "too_deep", "/edits/0/frame");
}

static pdr_rc check_step(const struct store_step *step, pdr_err *err)
{
    const pdr_request request = step_request(step, 1);
    size_t bytes = 0;
    pdr_edit edit;

    return pdr__step_check(&edit, &bytes, &request, err);
}

/* A thread has no bag, so its messages stand one level higher; who brings the
 * frame, or puts a whole session together, has looked. */
TEST(edits_check, takes_a_message_of_a_thread_with_its_document)
{
    static const pdr_row_shape shapes[] = {PDR_ROW_DOTNET, PDR_ROW_PYTHON,
                                           PDR_ROW_SK};
    char room[300];

    for (size_t i = 0; i < 2; i++) {
        pdr_entry entry = {.kind = PDR_ROW_MESSAGE, .shape = shapes[i]};
        pdr_edit framed = edit_at(0);
        struct store_step staged = step_of("trip-42", PDR_STAGE_ADD, 1, 1);

        framed.entries = staged.rows.entries = &entry;
        framed.entry_count = staged.rows.entry_count = 1;
        framed.frame = PDR_LIT("{}");
        entry.body = nested(room, 125);
        good(&framed);
        ASSERT_RC(PDR_OK, check_step(&staged, NULL));
        entry.body = nested(room, 126);
        bad(&framed, "too_deep", "/edits/0/entries/0/body");
        ASSERT_RC(PDR_ELIMIT, check_step(&staged, NULL));
    }
}

TEST(edits_check, refuses_a_row_that_is_too_large)
{
    pdr_entry entries[2] = {{.body = PDR_LIT("1")},
                            {.body = digits(PDR_MAX_ROW_BYTES)}};
    pdr_edit edit = edit_at(1);
    size_t bytes = 0;
    pdr_err err = PDR_ERR_INIT;

    edit.entries = entries;
    edit.entry_count = 2;
    good(&edit);
    entries[1].body = digits(PDR_MAX_ROW_BYTES + 1);
    bad(&edit, "row_too_large", "/edits/0/entries/1/body");
    ASSERT_RC(PDR_ELIMIT, pdr__edits_check(&bytes, &edit, 1, &err));
    ASSERT_STR("session 'trip-42': a row with 67108865 bytes of body is too "
               "large, a store keeps at most 67108864 bytes in one",
               err.message);
    entries[1].body = digits(PDR_MAX_ROW_BYTES - 1);
    entries[1].correlation_id = PDR_LIT("ab"); /* all texts of a row count */
    bad(&edit, "row_too_large", "/edits/0/entries/1/body");
    entries[1].body = pdr_str_n(long_text(), SIZE_MAX);
    bad(&edit, "row_too_large", "/edits/0/entries/1/body");
}

TEST(edits_check, refuses_a_commit_that_is_too_large)
{
    const size_t names = 14; /* bytes of tenant and id */
    pdr_work work[4];
    pdr_edit edit = edit_at(PDR_ANY_REVISION);

    for (size_t i = 0; i < 4; i++)
        work[i] = (pdr_work){.kind = PDR_LIT("k"),
                             .body = digits(PDR_MAX_ROW_BYTES - 1)};
    edit.inbox = work;
    edit.inbox_count = 4;
    work[3].body.len -= names;
    ASSERT_SIZE(PDR_MAX_COMMIT_BYTES, bytes_of(&edit, 1));
    work[3].body.len += 1;
    bad(&edit, "commit_too_large", "/edits/0/inbox/3/body");
}

TEST(edits_check, refuses_more_rows_than_a_commit_carries)
{
    uint64_t *settle = malloc((PDR_MAX_COMMIT_ROWS + 1) * sizeof(*settle));
    pdr_edit edits[2] = {edit_at(1), edit_at(1)};

    assert_non_null(settle);
    for (size_t i = 0; i <= PDR_MAX_COMMIT_ROWS; i++)
        settle[i] = i + 1;
    edits[0].settle = edits[1].settle = settle;
    edits[0].settle_count = PDR_MAX_COMMIT_ROWS;
    good(&edits[0]);
    edits[0].settle_count = PDR_MAX_COMMIT_ROWS + 1;
    bad(&edits[0], "commit_too_large", "/edits/0/settle");
    edits[0].settle_count =
        PDR_MAX_COMMIT_ROWS; /* together they are too many */
    edits[1].settle_count = 1;
    edits[1].ref.id = PDR_LIT("b");
    refused(edits, 2, "commit_too_large", "/edits/1/settle");
    edits[0].settle_count = SIZE_MAX;
    bad(&edits[0], "commit_too_large", "/edits/0/settle");
    free(settle);
}

/* --- queries ---------------------------------------------------------------
 */

static const pdr_query of_session = {.ref = {{NULL, 0}, {"a", 1}}};

static pdr_query asks(const pdr_query *query)
{
    pdr_query out;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr__query_check(&out, query, &err);

    if (rc != PDR_OK)
        print_error("refused: %s\n", err.message);
    ASSERT_RC(PDR_OK, rc);
    return out;
}

static void wrong(const pdr_query *query, const char *reason)
{
    pdr_query out;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr__query_check(&out, query, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT(err.message[0] != '\0');
}

TEST(query_check, fills_in_defaults)
{
    pdr_query out = asks(&of_session);

    ASSERT_TEXT("default", out.ref.tenant);
    ASSERT_TEXT("a", out.ref.id);
    ASSERT_SIZE(50, out.limit);
    ASSERT_SIZE(8 * 1024 * 1024, out.max_bytes);
}

TEST(query_check, takes_pages_of_up_to_200_rows)
{
    pdr_query query = of_session;

    query.what = PDR_READ_ENTRIES;
    query.limit = 1;
    query.max_bytes = 1;
    ASSERT_SIZE(1, asks(&query).limit);
    ASSERT_SIZE(1, asks(&query).max_bytes);
    query.limit = 200;
    ASSERT_SIZE(200, asks(&query).limit);
    query.limit = 201;
    wrong(&query, "bad_query");
}

TEST(query_check, refuses_a_kind_of_read_that_is_none)
{
    pdr_query query = of_session;

    query.what = (pdr_read_what)13;
    wrong(&query, "bad_query");
}

/* What each kind of read knows of: n numbers, k key, p pages, f filter. */
static const struct kind {
    pdr_read_what what;
    const char *knows;
} kinds[] = {
    {PDR_READ_HEAD, ""},          {PDR_READ_ENTRIES, "nkp"},
    {PDR_READ_SLOTS, "kp"},       {PDR_READ_PROPERTIES, "kp"},
    {PDR_READ_COMPLETIONS, "kp"}, {PDR_READ_FRAME, ""},
    {PDR_READ_JOURNAL, "np"},     {PDR_READ_STREAM, "np"},
    {PDR_READ_INBOX, "np"},       {PDR_READ_SESSIONS, "pf"},
    {PDR_READ_EXPIRED, "p"},      {PDR_READ_DUE, "p"},
    {PDR_READ_ALL, "p"},
};

static void try_member(const struct kind *kind, char letter,
                       const pdr_query *query)
{
    pdr_query asked = *query;

    asked.what = kind->what;
    if (kind->what < PDR_READ_SESSIONS)
        asked.ref = of_session.ref;
    if (strchr(kind->knows, letter) != NULL)
        (void)asks(&asked);
    else
        wrong(&asked, "bad_query");
}

TEST(query_check, refuses_what_a_kind_of_read_does_not_know)
{
    const pdr_query backwards = {.backwards = true}, from = {.from = 3};
    const pdr_query key = {.key = PDR_LIT("k")};
    const pdr_query after = {.after = PDR_LIT("x")};
    const pdr_query by_state = {.filter = {.by_state = true}};
    const pdr_query agent = {.filter = {.agent = PDR_LIT("a")}};
    const pdr_query time = {.filter = {.changed_to_ms = 7}};
    const pdr_query past = {.filter = {.changed_from_ms = -7}};

    for (size_t i = 0; i < PDR_COUNT(kinds); i++) {
        try_member(&kinds[i], 'n', &backwards);
        try_member(&kinds[i], 'n', &from);
        try_member(&kinds[i], 'k', &key);
        try_member(&kinds[i], 'p', &after);
        try_member(&kinds[i], 'f', &by_state);
        try_member(&kinds[i], 'f', &agent);
        try_member(&kinds[i], 'f', &time);
        try_member(&kinds[i], 'f', &past);
    }
}

TEST(query_check, knows_whose_rows_are_read)
{
    pdr_query query = {.what = PDR_READ_SLOTS};

    wrong(&query, "bad_ref");
    query.what = PDR_READ_SESSIONS;
    ASSERT_TEXT("default", asks(&query).ref.tenant);
    query.ref.tenant = digits(128);
    (void)asks(&query);
    query.ref.tenant = digits(129);
    wrong(&query, "bad_ref");
    query.ref = of_session.ref;
    wrong(&query, "bad_query");
    query.what = PDR_READ_ALL;
    ASSERT(asks(&query).ref.id.ptr == NULL);
    query.what = PDR_READ_DUE;
    ASSERT(asks(&query).ref.id.ptr == NULL);
}

TEST(query_check, knows_the_parts_of_a_filter)
{
    pdr_query query = {.what = PDR_READ_SESSIONS};
    pdr_filter *filter = &query.filter;

    filter->agent = digits(128);
    (void)asks(&query);
    filter->agent = digits(129);
    wrong(&query, "bad_query");
    filter->agent = digits(0);
    wrong(&query, "bad_query");
    filter->agent = PDR_LIT("a\0");
    wrong(&query, "bad_query");
    filter->agent = pdr_str_n(NULL, 0);
    filter->by_state = true;
    filter->state = PDR_SESSION_EXPIRED;
    (void)asks(&query);
    filter->state = (pdr_session_state)4;
    wrong(&query, "bad_query");
    filter->by_state = false;
    filter->changed_from_ms = 5;
    filter->changed_to_ms = 5;
    (void)asks(&query);
    filter->changed_to_ms = 4;
    wrong(&query, "bad_query");
    filter->changed_to_ms = PDR_NEVER;
    (void)asks(&query);
}

TEST(query_check, wants_key_and_match_of_a_property)
{
    pdr_query query = {.what = PDR_READ_SESSIONS};
    pdr_filter *filter = &query.filter;

    filter->property = digits(1024);
    wrong(&query, "bad_query");
    filter->match = digits(1024);
    (void)asks(&query);
    filter->match = digits(0);
    (void)asks(&query);
    filter->match = digits(1025);
    wrong(&query, "bad_query");
    filter->match = digits(1);
    filter->property = digits(1025);
    wrong(&query, "bad_query");
    filter->property = digits(0);
    wrong(&query, "bad_query");
    filter->property = pdr_str_n(NULL, 0);
    wrong(&query, "bad_query");
}
