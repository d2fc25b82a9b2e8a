/*
 * seal.c - the digests of rows.
 *
 * WHY  A read must give exactly what was acknowledged, or fail. Disks and
 *      people change bytes; a digest over a whole row, its key included, shows
 *      it. Entries are chained besides, so that none can be taken out, put in
 *      or moved; and with a key in the digest nobody without the key can do
 *      any of that unseen.
 *
 *          anchor --> entry 1 --> entry 2 --> ... --> entry n
 *                                                        |
 *                     head.chain -------------------------+
 *
 *      An entry's digest is made in two steps: its own columns, which the
 *      caller's thread can do before it waits for anybody, and a link of fixed
 *      size with the digest before, epoch and number, which only whoever
 *      commits knows.
 *
 * FORM One byte for the table, then the columns in the order below: a number as
 *      8 bytes, most significant first; a text as its length plus one in 8
 *      bytes and its bytes, an absent text as length zero. No two rows have the
 *      same form. docs/formats/store-sqlite.md shows it byte by byte; changing
 *      it is a new version of every store.
 *
 *      With a key: HMAC (RFC 2104), written out here because its two halves
 *      are two plain digests, and the library's own way costs three times a
 *      short row.
 */
#include "store.h"

enum table {
    TABLE_ANCHOR = 1,
    TABLE_ENTRY = 2,
    TABLE_LINK = 3,
    TABLE_SLOT = 4,
    TABLE_PROPERTY = 5,
    TABLE_FRAME = 6,
    TABLE_COMPLETION = 7,
    TABLE_WORK = 8,
    TABLE_HEAD = 9
};

void pdr__seal_dispose(struct pdr__seal *seal)
{
    pdr__sha256_dispose(&seal->sha);
}

/* --- bytes --------------------------------------------------------------- */

static pdr_rc flush_bytes(struct pdr__seal *seal, pdr_err *err)
{
    pdr_str bytes = {(const char *)seal->pending, seal->used};

    seal->used = 0;
    return pdr__sha256_update(&seal->sha, bytes, err);
}

/* Short columns are gathered: a call of the digest costs as much as hashing
 * some of them. */
static pdr_rc put_bytes(struct pdr__seal *seal, const void *bytes, size_t len,
                        pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (len > sizeof(seal->pending) - seal->used)
        rc = flush_bytes(seal, err);
    if (rc != PDR_OK)
        return rc;
    if (len > sizeof(seal->pending))
        return pdr__sha256_update(&seal->sha, pdr_str_n(bytes, len), err);
    if (len > 0)
        memcpy(seal->pending + seal->used, bytes, len);
    seal->used += len;
    return PDR_OK;
}

/* Byte by byte and not in a loop: so compilers make it two instructions. */
static uint8_t *write_number(uint8_t *to, uint64_t number)
{
    to[0] = (uint8_t)(number >> 56);
    to[1] = (uint8_t)(number >> 48);
    to[2] = (uint8_t)(number >> 40);
    to[3] = (uint8_t)(number >> 32);
    to[4] = (uint8_t)(number >> 24);
    to[5] = (uint8_t)(number >> 16);
    to[6] = (uint8_t)(number >> 8);
    to[7] = (uint8_t)number;
    return to + 8;
}

static pdr_rc put_number(struct pdr__seal *seal, uint64_t number, pdr_err *err)
{
    uint8_t bytes[8];

    (void)write_number(bytes, number);
    return put_bytes(seal, bytes, sizeof(bytes), err);
}

static pdr_rc put_text(struct pdr__seal *seal, pdr_str text, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (text.ptr == NULL)
        return put_number(seal, 0, err);
    PDR_TRY(put_number(seal, (uint64_t)text.len + 1, err));
    PDR_TRY(put_bytes(seal, text.ptr, text.len, err));
done:
    return rc;
}

/* --- HMAC ---------------------------------------------------------------- */

/* The key filled up to a block, each byte changed by `pad`. */
static pdr_rc put_key(struct pdr__seal *seal, const pdr_store *store,
                      uint8_t pad, pdr_err *err)
{
    uint8_t block[PDR_HMAC_BLOCK_BYTES] = {0};
    pdr_str key = {(const char *)store->key, store->key_len};
    pdr_rc rc = PDR_OK;

    if (key.len > sizeof(block))
        rc = pdr__sha256(block, key, err);
    else
        memcpy(block, key.ptr, key.len);
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = (uint8_t)(block[i] ^ pad);
    return rc == PDR_OK ? put_bytes(seal, block, sizeof(block), err) : rc;
}

static pdr_rc begin_digest(struct pdr__seal *seal, const pdr_store *store,
                           uint8_t pad, pdr_err *err)
{
    pdr_rc rc = pdr__sha256_init(&seal->sha, err);

    seal->used = 0;
    if (rc == PDR_OK && store->key != NULL)
        rc = put_key(seal, store, pad, err);
    return rc;
}

static pdr_rc end_digest(pdr_digest out, struct pdr__seal *seal, pdr_err *err)
{
    pdr_rc rc = flush_bytes(seal, err);

    return rc == PDR_OK ? pdr__sha256_final(out, &seal->sha, err) : rc;
}

/* --- a row --------------------------------------------------------------- */

static pdr_rc begin_row(struct pdr__seal *seal, const pdr_store *store,
                        enum table table, pdr_err *err)
{
    uint8_t byte = (uint8_t)table;
    pdr_rc rc = PDR_OK;

    PDR_TRY(begin_digest(seal, store, 0x36, err));
    PDR_TRY(put_bytes(seal, &byte, 1, err));
done:
    return rc;
}

static pdr_rc end_row(pdr_digest out, struct pdr__seal *seal,
                      const pdr_store *store, pdr_err *err)
{
    pdr_digest inner;
    pdr_rc rc = PDR_OK;

    PDR_TRY(end_digest(inner, seal, err));
    if (store->key != NULL) {
        PDR_TRY(begin_digest(seal, store, 0x5C, err));
        PDR_TRY(put_bytes(seal, inner, sizeof(inner), err));
        PDR_TRY(end_digest(inner, seal, err));
    }
    memcpy(out, inner, sizeof(inner));
done:
    return rc;
}

/* The texts and numbers of a row. */
struct columns {
    const pdr_str *texts;
    size_t text_count;
    const uint64_t *numbers;
    size_t number_count;
};

/* Do they fit behind what is gathered? */
static bool fits(const struct pdr__seal *seal, const struct columns *columns)
{
    size_t room = sizeof(seal->pending) - seal->used;
    size_t need = 8 * (columns->text_count + columns->number_count);

    for (size_t i = 0; i < columns->text_count; i++) {
        if (columns->texts[i].len > room)
            return false;
        need += columns->texts[i].len;
    }
    return need <= room;
}

/* Heads fit, and a list has one in each row: what fits is written without a
 * look at the room for each column. */
static void write_columns(struct pdr__seal *seal, const struct columns *columns)
{
    uint8_t *to = seal->pending + seal->used;

    for (size_t i = 0; i < columns->text_count; i++) {
        pdr_str text = columns->texts[i];

        if (text.ptr == NULL) {
            to = write_number(to, 0);
            continue;
        }
        to = write_number(to, (uint64_t)text.len + 1);
        memcpy(to, text.ptr, text.len);
        to += text.len;
    }
    for (size_t i = 0; i < columns->number_count; i++)
        to = write_number(to, columns->numbers[i]);
    seal->used = (size_t)(to - seal->pending);
}

/* A row that has first texts, then numbers. */
static pdr_rc seal_row(pdr_digest out, struct pdr__seal *seal,
                       const pdr_store *store, enum table table,
                       const pdr_str *texts, size_t text_count,
                       const uint64_t *numbers, size_t number_count,
                       pdr_err *err)
{
    const struct columns columns = {texts, text_count, numbers, number_count};
    pdr_rc rc = PDR_OK;

    PDR_TRY(begin_row(seal, store, table, err));
    if (PDR_LIKELY(fits(seal, &columns))) {
        write_columns(seal, &columns);
    } else {
        for (size_t i = 0; i < text_count; i++)
            PDR_TRY(put_text(seal, texts[i], err));
        for (size_t i = 0; i < number_count; i++)
            PDR_TRY(put_number(seal, numbers[i], err));
    }
    PDR_TRY(end_row(out, seal, store, err));
done:
    return rc;
}

pdr_rc pdr__seal_anchor(pdr_digest out, struct pdr__seal *seal,
                        const pdr_store *store, const pdr_ref *ref,
                        uint64_t epoch, pdr_err *err)
{
    const pdr_str texts[] = {ref->tenant, ref->id};

    return seal_row(out, seal, store, TABLE_ANCHOR, texts, PDR_COUNT(texts),
                    &epoch, 1, err);
}

pdr_rc pdr__seal_entry(pdr_digest out, struct pdr__seal *seal,
                       const pdr_store *store, const pdr_entry *entry,
                       pdr_err *err)
{
    const pdr_str texts[] = {entry->correlation_id, entry->separator,
                             entry->body};
    const uint64_t numbers[] = {(uint64_t)entry->kind, (uint64_t)entry->shape,
                                (uint64_t)entry->created_ms};

    return seal_row(out, seal, store, TABLE_ENTRY, texts, PDR_COUNT(texts),
                    numbers, PDR_COUNT(numbers), err);
}

pdr_rc pdr__seal_link(pdr_digest out, struct pdr__seal *seal,
                      const pdr_store *store, const pdr_digest before,
                      const pdr_digest own, uint64_t epoch, uint64_t seq,
                      pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(begin_row(seal, store, TABLE_LINK, err));
    PDR_TRY(put_bytes(seal, before, PDR_DIGEST_BYTES, err));
    PDR_TRY(put_bytes(seal, own, PDR_DIGEST_BYTES, err));
    PDR_TRY(put_number(seal, epoch, err));
    PDR_TRY(put_number(seal, seq, err));
    PDR_TRY(end_row(out, seal, store, err));
done:
    return rc;
}

pdr_rc pdr__seal_slot(pdr_digest out, struct pdr__seal *seal,
                      const pdr_store *store, const pdr_ref *ref,
                      const pdr_slot *slot, pdr_err *err)
{
    const pdr_str texts[] = {ref->tenant, ref->id, slot->key, slot->value};

    return seal_row(out, seal, store, TABLE_SLOT, texts, PDR_COUNT(texts), NULL,
                    0, err);
}

pdr_rc pdr__seal_property(pdr_digest out, struct pdr__seal *seal,
                          const pdr_store *store, const pdr_ref *ref,
                          const pdr_property *property, pdr_err *err)
{
    const pdr_str texts[] = {ref->tenant, ref->id, property->key,
                             property->value, property->match};

    return seal_row(out, seal, store, TABLE_PROPERTY, texts, PDR_COUNT(texts),
                    NULL, 0, err);
}

pdr_rc pdr__seal_frame(pdr_digest out, struct pdr__seal *seal,
                       const pdr_store *store, const pdr_ref *ref,
                       pdr_str frame, pdr_err *err)
{
    const pdr_str texts[] = {ref->tenant, ref->id, frame};

    return seal_row(out, seal, store, TABLE_FRAME, texts, PDR_COUNT(texts),
                    NULL, 0, err);
}

pdr_rc pdr__seal_completion(pdr_digest out, struct pdr__seal *seal,
                            const pdr_store *store, const pdr_ref *ref,
                            const pdr_completion *completion, pdr_err *err)
{
    const pdr_str texts[] = {ref->tenant, ref->id, completion->correlation_id,
                             completion->fingerprint, completion->outcome};
    const uint64_t numbers[] = {(uint64_t)completion->at_ms, completion->epoch,
                                completion->first_seq, completion->last_seq};

    return seal_row(out, seal, store, TABLE_COMPLETION, texts, PDR_COUNT(texts),
                    numbers, PDR_COUNT(numbers), err);
}

pdr_rc pdr__seal_work(pdr_digest out, struct pdr__seal *seal,
                      const pdr_store *store, const pdr_ref *ref, pdr_part part,
                      uint64_t n, const pdr_work *work, pdr_err *err)
{
    const pdr_str texts[] = {ref->tenant, ref->id, work->kind,
                             work->correlation_id, work->body};
    const uint64_t numbers[] = {(uint64_t)part, n, (uint64_t)work->due_ms};

    return seal_row(out, seal, store, TABLE_WORK, texts, PDR_COUNT(texts),
                    numbers, PDR_COUNT(numbers), err);
}

pdr_rc pdr__seal_head(pdr_digest out, struct pdr__seal *seal,
                      const pdr_store *store, const pdr_head *head,
                      pdr_err *err)
{
    const pdr_str texts[] = {
        head->ref.tenant,
        head->ref.id,
        head->agent,
        head->kind,
        head->schema_version,
        head->lease.owner,
        {(const char *)head->anchor, PDR_DIGEST_BYTES},
        {(const char *)head->chain, PDR_DIGEST_BYTES},
    };
    const uint64_t numbers[] = {
        (uint64_t)head->state,
        head->revision,
        head->commits,
        head->epoch,
        (uint64_t)head->created_ms,
        (uint64_t)head->changed_ms,
        (uint64_t)head->expiry_ms,
        head->first_seq,
        head->next_seq,
        head->slots,
        head->properties,
        head->completions,
        head->journal_first,
        head->journal_next,
        head->stream_first,
        head->stream_next,
        head->inbox,
        head->inbox_next,
        pdr__head_flags(head),
        head->lease.fence,
        (uint64_t)head->lease.until_ms,
    };

    return seal_row(out, seal, store, TABLE_HEAD, texts, PDR_COUNT(texts),
                    numbers, PDR_COUNT(numbers), err);
}
