/*
 * The judge of the harnesses: does it find what it is there for? Each test
 * tells a sound tale of two writers, and most spoil it in one place.
 */
#include "store_judge.h"

#include <inttypes.h>
#include <unistd.h>

#include "room.h"

struct tale {
    struct oracle oracles[2];
    struct view view;
    struct judgement judgement;
};

static void begin(struct tale *tale)
{
    memset(tale, 0, sizeof(*tale));
    oracle_init(&tale->oracles[0], 1);
    oracle_init(&tale->oracles[1], 2);
}

static void judge(struct tale *tale)
{
    store_judge(&tale->judgement, &tale->view, tale->oracles, 2);
}

static void end(struct tale *tale)
{
    view_dispose(&tale->view);
    oracle_dispose(&tale->oracles[0]);
    oracle_dispose(&tale->oracles[1]);
}

static struct oracle *oracle_of(struct tale *tale, unsigned writer)
{
    return &tale->oracles[writer - 1];
}

static deed_id next_deed(struct tale *tale, unsigned writer)
{
    return deed_id_of(writer, (unsigned)oracle_of(tale, writer)->count + 1);
}

static void say(struct tale *tale, char what, deed_id id, enum deed_kind kind,
                const struct deed_part *parts, size_t count)
{
    char line[600], name[DEED_TEXT];
    int len = snprintf(line, sizeof(line), "%c %s %u", what,
                       deed_text(name, id), (unsigned)kind);

    for (size_t i = 0; i < count; i++)
        len += snprintf(line + len, sizeof(line) - (size_t)len,
                        " %u:%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64
                        ":%" PRIu64 ":%" PRIu64 ":%" PRIu64,
                        parts[i].session, parts[i].asked, parts[i].epoch,
                        parts[i].revision, parts[i].first_seq,
                        parts[i].journal_n, parts[i].inbox_n, parts[i].fence);
    ASSERT(oracle_line(oracle_of(tale, deed_writer(id)), line));
}

/* --- a store in a few lines -------------------------------------------------
 */

static void set_named(struct view_rows *rows, deed_id key,
                      const struct note *note)
{
    struct view_row *row = NULL;

    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].key == key)
            row = &rows->rows[i];
    if (row == NULL)
        row = view_add(rows);
    row->key = key;
    row->note = *note;
}

static void add_note(struct view_rows *rows, uint64_t n, unsigned part,
                     const struct note *note)
{
    struct view_row *row = view_add(rows);

    row->n = n;
    row->note = *note;
    row->note.part = part;
}

static void add_completion(struct view_session *s, deed_id id, uint64_t first)
{
    struct view_row *row = view_add(&s->completions);

    row->key = id;
    row->n = first;
    row->last = first > 0 ? first + 1 : 0;
    row->ended = first > 0;
}

static void make_session(struct view_session *s, uint64_t epoch, deed_id by)
{
    s->is_there = true;
    s->epoch = epoch;
    s->next_seq = s->journal_first = s->journal_next = 1;
    s->frame = by;
}

/* What a turn reads, and what it would be told. */
static void plan_turn(struct deed_part *part, struct note *note,
                      const struct view_session *s, deed_id id)
{
    memset(note, 0, sizeof(*note));
    note->id = id;
    note->journal = note->stream = note->inbox = 1;
    if (s->entries.count > 0)
        note->after = s->entries.rows[s->entries.count - 1].note.id;
    if (s->inbox.count > 0)
        note->settles = s->inbox.rows[0].note.id;
    note->through = s->is_there ? s->journal_next - 1 : 0;
    part->revision = s->revision + 1;
    part->first_seq = s->is_there ? s->next_seq : 1;
    part->journal_n = note->through + 1;
    part->inbox_n = part->revision; /* any that only grows */
}

static void do_turn(struct view_session *s, const struct deed_part *part,
                    const struct note *note)
{
    if (!s->is_there)
        make_session(s, part->epoch, note->id);
    s->revision++;
    s->commits++;
    add_note(&s->entries, s->next_seq++, 0, note);
    add_note(&s->entries, s->next_seq++, 1, note);
    set_named(&s->slots, 0, note);
    set_named(&s->slots, deed_writer(note->id), note);
    set_named(&s->properties, 0, note);
    set_named(&s->properties, deed_writer(note->id), note);
    add_completion(s, note->id, part->first_seq);
    s->journal.count = s->stream.count = 0;
    s->journal_first = s->journal_next;
    add_note(&s->journal, s->journal_next++, 0, note);
    add_note(&s->stream, part->revision, 0, note);
    if (note->settles != 0)
        memmove(s->inbox.rows, s->inbox.rows + 1,
                --s->inbox.count * sizeof(*s->inbox.rows));
    add_note(&s->inbox, part->inbox_n, 0, note);
}

/* How a deed of the tale ends. */
enum ending { ACKNOWLEDGED, CUT_OFF_DONE, CUT_OFF, REFUSED };

/* A turn of one session or of two; both have the epoch 10 + session. */
static deed_id tell_turn(struct tale *tale, unsigned writer, unsigned session,
                         size_t count, enum ending ending)
{
    deed_id id = next_deed(tale, writer);
    struct deed_part parts[2] = {{0}, {0}};
    struct note notes[2];

    for (size_t i = 0; i < count; i++) {
        parts[i].session = session + (unsigned)i;
        parts[i].epoch = 10 + session + i;
        plan_turn(&parts[i], &notes[i], &tale->view.sessions[parts[i].session],
                  id);
    }
    say(tale, 'I', id, DEED_TURN, parts, count);
    for (size_t i = 0; i < count; i++)
        if (ending == ACKNOWLEDGED || ending == CUT_OFF_DONE)
            do_turn(&tale->view.sessions[parts[i].session], &parts[i],
                    &notes[i]);
    if (ending == ACKNOWLEDGED || ending == REFUSED)
        say(tale, ending == REFUSED ? 'R' : 'A', id, DEED_TURN, parts, count);
    return id;
}

static deed_id tell_enqueue(struct tale *tale, unsigned writer,
                            unsigned session)
{
    deed_id id = next_deed(tale, writer);
    struct view_session *s = &tale->view.sessions[session];
    struct deed_part part = {.session = session, .epoch = s->epoch};
    struct note note = {.id = id};

    say(tale, 'I', id, DEED_ENQUEUE, &part, 1);
    part.inbox_n = 1000 + s->commits;
    s->commits++;
    add_note(&s->inbox, part.inbox_n, 0, &note);
    add_completion(s, id, 0);
    say(tale, 'A', id, DEED_ENQUEUE, &part, 1);
    return id;
}

static deed_id tell_lease(struct tale *tale, unsigned writer, unsigned session,
                          enum deed_kind kind, uint64_t fence)
{
    deed_id id = next_deed(tale, writer);
    struct view_session *s = &tale->view.sessions[session];
    struct deed_part part = {.session = session, .epoch = s->epoch};

    part.asked = kind == DEED_TAKE ? 0 : fence;
    say(tale, 'I', id, kind, &part, 1);
    s->commits++;
    if (kind == DEED_TAKE) {
        s->fence = fence;
        s->owner = id;
    }
    if (kind == DEED_RELEASE)
        s->owner = 0;
    part.fence = kind == DEED_RELEASE ? 0 : fence;
    say(tale, 'A', id, kind, &part, 1);
    return id;
}

static deed_id tell_step(struct tale *tale, unsigned writer, unsigned session,
                         uint64_t fence)
{
    deed_id id = next_deed(tale, writer);
    struct view_session *s = &tale->view.sessions[session];
    struct deed_part part = {
        .session = session, .epoch = s->epoch, .asked = fence};
    struct note note = {.id = id, .fence = fence};

    say(tale, 'I', id, DEED_STEP, &part, 1);
    part.journal_n = s->journal_next;
    part.fence = fence;
    s->commits++;
    add_note(&s->journal, s->journal_next++, 0, &note);
    add_completion(s, id, 0);
    say(tale, 'A', id, DEED_STEP, &part, 1);
    return id;
}

static void empty_session(struct view_session *s)
{
    struct view_session kept = *s;

    memset(s, 0, sizeof(*s));
    s->entries.rows = kept.entries.rows;
    s->entries.cap = kept.entries.cap;
    free(kept.slots.rows);
    free(kept.properties.rows);
    free(kept.completions.rows);
    free(kept.journal.rows);
    free(kept.stream.rows);
    free(kept.inbox.rows);
}

static void tell_remove(struct tale *tale, unsigned writer, unsigned session)
{
    deed_id id = next_deed(tale, writer);
    struct view_session *s = &tale->view.sessions[session];
    struct deed_part part = {.session = session, .epoch = s->epoch};

    say(tale, 'I', id, DEED_REMOVE, &part, 1);
    say(tale, 'A', id, DEED_REMOVE, &part, 1);
    empty_session(s);
}

/* All that writers do, soundly. */
static void tell_all(struct tale *tale)
{
    begin(tale);
    for (unsigned i = 0; i < 3; i++) {
        tell_turn(tale, 1, 0, 1, ACKNOWLEDGED);
        tell_turn(tale, 2, 0, 2, ACKNOWLEDGED);
        tell_enqueue(tale, 1, 0);
    }
    tell_lease(tale, 1, 0, DEED_TAKE, 100);
    tell_step(tale, 1, 0, 100);
    tell_lease(tale, 1, 0, DEED_RENEW, 100);
    tell_lease(tale, 2, 0, DEED_TAKE, 101);
    tell_step(tale, 2, 0, 101);
    tell_turn(tale, 1, 0, 1, REFUSED);
}

/* --- sound tales
 * -------------------------------------------------------------- */

TEST(judge, finds_nothing_in_a_sound_tale)
{
    struct tale tale;

    tell_all(&tale);
    tell_lease(&tale, 2, 0, DEED_RELEASE, 101);
    tell_turn(&tale, 1, 5, 1, ACKNOWLEDGED);
    tell_remove(&tale, 2, 5);
    judge(&tale);
    ASSERT_SIZE(0, judgement_sum(&tale.judgement));
    ASSERT_SIZE(1, tale.oracles[0].refusals);
    end(&tale);
}

TEST(judge, takes_a_deed_that_was_cut_off_either_way)
{
    struct tale tale;

    tell_all(&tale);
    tell_turn(&tale, 1, 0, 2, CUT_OFF_DONE);
    tell_turn(&tale, 2, 0, 1, CUT_OFF);
    judge(&tale);
    ASSERT_SIZE(0, judgement_sum(&tale.judgement));
    end(&tale);
}

/* --- spoiled ones
 * --------------------------------------------------------------- */

TEST(judge, finds_a_turn_that_is_lost)
{
    struct tale tale;
    struct deed_part part = {.session = 0, .epoch = 10, .revision = 7};
    deed_id id = 0;

    tell_all(&tale);
    id = next_deed(&tale, 1);
    say(&tale, 'I', id, DEED_TURN, &part, 1);
    say(&tale, 'A', id, DEED_TURN, &part, 1);
    judge(&tale);
    /* Itself, and the head has not counted it. */
    ASSERT_SIZE(2, tale.judgement.lost);
    ASSERT_SIZE(2, judgement_sum(&tale.judgement));
    end(&tale);
}

TEST(judge, finds_a_session_that_is_lost)
{
    struct tale tale;

    tell_all(&tale);
    tell_turn(&tale, 1, 5, 1, ACKNOWLEDGED);
    empty_session(&tale.view.sessions[5]);
    judge(&tale);
    ASSERT_SIZE(1, tale.judgement.lost);
    end(&tale);
}

TEST(judge, finds_a_removal_that_is_lost)
{
    struct tale tale;
    struct view_session kept;

    tell_all(&tale);
    tell_turn(&tale, 1, 5, 1, ACKNOWLEDGED);
    kept = tale.view.sessions[5];
    memset(&tale.view.sessions[5], 0, sizeof(kept));
    tell_remove(&tale, 1, 5);
    tale.oracles[0].deeds[tale.oracles[0].count - 1].parts[0].epoch = 15;
    tale.view.sessions[5] = kept;
    judge(&tale);
    ASSERT_SIZE(1, tale.judgement.lost);
    end(&tale);
}

TEST(judge, finds_an_inbox_row_that_is_lost)
{
    struct tale tale;

    tell_all(&tale);
    tell_enqueue(&tale, 2, 0);
    tale.view.sessions[0].inbox.count--;
    judge(&tale);
    ASSERT_SIZE(1, tale.judgement.lost);
    end(&tale);
}

TEST(judge, finds_a_step_that_is_lost)
{
    struct tale tale;
    struct view_session *s = &tale.view.sessions[0];

    tell_all(&tale);
    s->journal.count--;
    s->journal_next--;
    judge(&tale);
    ASSERT_SIZE(1, tale.judgement.lost);
    ASSERT_SIZE(1, judgement_sum(&tale.judgement));
    end(&tale);
}

TEST(judge, finds_a_lease_that_is_lost)
{
    struct tale tale;

    tell_all(&tale);
    tale.view.sessions[0].owner = 0;
    judge(&tale);
    ASSERT_SIZE(1, tale.judgement.lost);
    tale.view.sessions[0].fence = 100;
    judge(&tale);
    ASSERT(tale.judgement.lost > 0);
    end(&tale);
}

TEST(judge, finds_a_turn_that_is_doubled)
{
    struct tale tale;
    struct view_session *s = &tale.view.sessions[0];
    struct deed_part part = {.first_seq = 0};
    struct note note;

    tell_all(&tale);
    plan_turn(&part, &note, s, tale.oracles[0].deeds[0].id);
    do_turn(s, &part, &note);
    judge(&tale);
    ASSERT(tale.judgement.doubled > 0);
    end(&tale);
}

TEST(judge, finds_two_turns_behind_the_same_one)
{
    struct tale tale;
    struct view_session *s = &tale.view.sessions[0];

    tell_all(&tale);
    tell_turn(&tale, 1, 0, 1, ACKNOWLEDGED);
    s->entries.rows[s->entries.count - 2].note.after =
        s->entries.rows[s->entries.count - 6].note.id;
    judge(&tale);
    ASSERT_SIZE(1, tale.judgement.forked);
    ASSERT_SIZE(1, judgement_sum(&tale.judgement));
    end(&tale);
}

TEST(judge, finds_a_turn_at_another_place_than_told)
{
    struct tale tale;

    tell_all(&tale);
    tale.oracles[0].deeds[0].parts[0].revision = 2;
    judge(&tale);
    ASSERT_SIZE(1, tale.judgement.forked);
    end(&tale);
}

TEST(judge, finds_what_an_old_fence_wrote)
{
    struct tale tale;

    tell_all(&tale);
    tell_step(&tale, 1, 0, 100);
    judge(&tale);
    ASSERT_SIZE(1, tale.judgement.forked);
    ASSERT_SIZE(1, judgement_sum(&tale.judgement));
    end(&tale);
}

/* Also when the row is gone. */
TEST(judge, finds_that_an_old_fence_was_let_in)
{
    struct tale tale;
    struct deed *deed = NULL;

    tell_all(&tale);
    tell_step(&tale, 2, 0, 101);
    tell_turn(&tale, 1, 0, 1, ACKNOWLEDGED);
    deed = &tale.oracles[1].deeds[tale.oracles[1].count - 1];
    deed->parts[0].asked = 100;
    judge(&tale);
    ASSERT_SIZE(1, tale.judgement.forked);
    ASSERT_SIZE(1, judgement_sum(&tale.judgement));
    end(&tale);
}

TEST(judge, finds_a_fence_that_was_given_twice)
{
    struct tale tale;

    tell_all(&tale);
    tell_turn(&tale, 1, 5, 1, ACKNOWLEDGED);
    tell_lease(&tale, 1, 5, DEED_TAKE, 101);
    judge(&tale);
    ASSERT_SIZE(1, tale.judgement.forked);
    end(&tale);
}

/* Each kind of row, taken away from the last turn. */
TEST(judge, finds_a_half_commit_by_each_kind_of_row)
{
    for (int missing = 0; missing < 9; missing++) {
        struct tale tale;
        struct view_session *s = &tale.view.sessions[0];
        tell_all(&tale);
        tell_turn(&tale, 1, 0, 1, CUT_OFF_DONE);
        s->entries.count -= missing == 0;
        s->completions.count -= missing == 1;
        s->stream.count -= missing == 2;
        s->inbox.count -= missing == 3;
        if (missing == 4)
            s->slots.rows[0].note.id = s->entries.rows[0].note.id;
        if (missing == 5)
            s->properties.rows[1].note.id = s->entries.rows[0].note.id;
        if (missing == 6)
            s->frame = deed_id_of(2, 1);
        s->journal.count -= missing == 7;
        if (missing == 8) {
            s->entries.count -= 2;
            s->next_seq -= 2;
            s->revision--;
        }
        judge(&tale);
        if (tale.judgement.half + tale.judgement.lost == 0)
            fail_msg("not found without row %d", missing);
        end(&tale);
    }
}

TEST(judge, finds_a_commit_in_one_of_its_two_sessions)
{
    struct tale tale;
    struct view_session *s = &tale.view.sessions[0];
    struct deed_part parts[2] = {{.session = 0, .epoch = 10},
                                 {.session = 1, .epoch = 11}};
    struct note note;
    deed_id id = 0;

    tell_all(&tale);
    id = next_deed(&tale, 1);
    say(&tale, 'I', id, DEED_TURN, parts, 2);
    plan_turn(&parts[0], &note, s, id);
    do_turn(s, &parts[0], &note);
    judge(&tale);
    ASSERT_SIZE(1, tale.judgement.half);
    ASSERT_SIZE(1, judgement_sum(&tale.judgement));
    end(&tale);
}

TEST(judge, finds_what_was_refused_and_is_there)
{
    struct tale tale;

    tell_all(&tale);
    tell_turn(&tale, 1, 0, 1, CUT_OFF_DONE);
    tale.oracles[0].deeds[tale.oracles[0].count - 1].state = DEED_REFUSED;
    judge(&tale);
    ASSERT(tale.judgement.ghosts > 0);
    end(&tale);
}

TEST(judge, finds_what_nobody_asked_for)
{
    struct tale tale;

    tell_all(&tale);
    tell_turn(&tale, 1, 0, 1, CUT_OFF_DONE);
    tale.oracles[0].count--;
    judge(&tale);
    ASSERT(tale.judgement.ghosts > 0);
    end(&tale);
}

/* --- the file
 * --------------------------------------------------------------------- */

TEST(oracle, forgets_a_line_that_was_cut_off)
{
    struct deed deed = {.id = deed_id_of(1, 1), .part_count = 2};
    struct oracle oracle;
    struct oracle_file file;
    struct room room;
    FILE *more = NULL;

    room_enter(&room);
    oracle_init(&oracle, 1);
    ASSERT(oracle_file_open(&file, &oracle, room_path(&room, "o")));
    deed.parts[1].session = 3;
    ASSERT(oracle_note(&file, 'I', &deed));
    ASSERT(oracle_note(&file, 'A', &deed));
    oracle_file_close(&file);
    more = fopen(room_path(&room, "o"), "a");
    ASSERT(more != NULL);
    fputs("I w1-2 0 0:0:0:0:0:0:0", more);
    fclose(more);
    ASSERT(oracle_read(&oracle, room_path(&room, "o")));
    ASSERT_SIZE(1, oracle.count);
    ASSERT_SIZE(1, oracle.done);
    ASSERT_INT(3, oracle.deeds[0].parts[1].session);
    ASSERT(oracle_file_open(&file, &oracle, room_path(&room, "o")));
    ASSERT_INT(2, file.next);
    deed.id = deed_id_of(1, 2);
    ASSERT(oracle_note(&file, 'I', &deed));
    oracle_file_close(&file);
    oracle_dispose(&oracle);
    ASSERT(oracle_read(&oracle, room_path(&room, "o")));
    ASSERT_SIZE(2, oracle.count);
    ASSERT(oracle_open_deed(&oracle) == &oracle.deeds[1]);
    oracle_dispose(&oracle);
    room_leave(&room);
}

TEST(oracle, refuses_lines_that_cannot_stand_there)
{
    static const char *const first[] = {"",
                                        "I w1-1 0",
                                        "I w1-2 0 0:0:0:0:0:0:0:0",
                                        "I w2-1 0 0:0:0:0:0:0:0:0",
                                        "A w1-1 0 0:0:0:0:0:0:0:0",
                                        "I w1-1 9 0:0:0:0:0:0:0:0",
                                        "I w1-1 0 64:0:0:0:0:0:0:0"};
    struct oracle oracle;

    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
        oracle_init(&oracle, 1);
        ASSERT(!oracle_line(&oracle, first[i]));
        oracle_dispose(&oracle);
    }
    /* Two tries, the first cut off: nobody can say that it was refused. */
    oracle_init(&oracle, 1);
    ASSERT(oracle_line(&oracle, "I w1-1 0 0:0:0:0:0:0:0:0"));
    ASSERT(oracle_line(&oracle, "I w1-1 0 0:0:0:0:0:0:0:0"));
    ASSERT(!oracle_line(&oracle, "R w1-1 0 0:0:0:0:0:0:0:0"));
    ASSERT_SIZE(1, oracle.retries);
    oracle_dispose(&oracle);
}

TEST(note, comes_back_as_it_was_and_not_otherwise)
{
    struct note note = {.id = deed_id_of(3, 17),
                        .part = 1,
                        .through = 5,
                        .after = deed_id_of(2, 9),
                        .inbox = 1,
                        .fence = 7};
    char text[NOTE_TEXT + 10], same[NOTE_TEXT + 10];
    size_t len = note_write(text, &note, 10);
    struct note again;

    ASSERT(note_read(&again, pdr_str_n(text, len)));
    ASSERT_SIZE(len, note_write(same, &again, 10));
    ASSERT_INT(0, memcmp(text, same, len));
    ASSERT(!note_read(&again, pdr_str_n(text, len - 1)));
    ASSERT(!note_read(&again, pdr_str_c("{}")));
    text[len - 3] = 'z';
    ASSERT(!note_read(&again, pdr_str_n(text, len)));
}
