/*
 * perdure group show - who said what to whom in a chat, and who is how far.
 *
 *      #  TURN  WHO     TO     WHAT
 *      1        Ann     all    How many loaves?
 *      2     1  baker   all      → count({"what":"loaves"})
 *      3        baker   all      ← 7
 *      4        baker   all    Seven.
 *            2  miller         aborted: the model failed
 *      5        Ann     baker  And bread?
 *
 * What was said reaches everybody, some of them later: TO has those who have
 * it.
 *
 * Nothing is needed for it but the store, or the file of a saved chat.
 */
#include "group_parts.h"

#define MAX_WIDTH ((size_t)120) /* longer lines are hard to read */
#define MAX_WHO   20            /* columns of a name */

struct show {
    struct grp g;
    uint64_t last; /* messages to show; 0: all */
    FILE *out;
    bool colored, no_pager;
    size_t width;  /* of the page; 0: none */
    size_t who;    /* columns of names */
    size_t to;     /* and of those who have a message; 0: nobody knows */
    size_t turn;   /* place of the next turn that was not told */
    uint64_t told; /* number of the turn that was told last */
    pdr_buf line, scratch;
};

/* --- the conversation ----------------------------------------------------- */

#define LEAD 16 /* columns of both numbers, and of the gaps */

static void put_number(const struct show *s, uint64_t number)
{
    char text[24] = "";

    if (number > 0)
        snprintf(text, sizeof(text), "%ju", (uintmax_t)number);
    fprintf(s->out, "%5s  ", text);
}

static void put_name(const struct show *s, pdr_str text, size_t width,
                     const char *color)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    size_t cells = 0;

    cli_show_cut(&name, text, CLI_TEXT_LINE, width);
    cells = cli_cells(pdr_buf_str(&name), CLI_TEXT_LINE);
    fprintf(s->out, "%s%.*s%s%*s  ", cli_on(s->colored, color), (int)name.len,
            name.ptr, cli_off(s->colored),
            (int)(cells < width ? width - cells : 0), "");
    pdr_buf_dispose(&name);
}

/* A line of the transcript; `line` is what was said, and is taken. */
static void put_row(struct show *s, uint64_t seq, uint64_t turn, pdr_str who,
                    pdr_str to, const char *lead, const char *color)
{
    size_t used = LEAD + s->who + (s->to > 0 ? s->to + 2 : 0) +
                  cli_cells(pdr_str_c(lead), CLI_TEXT_LINE);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    cli_flow(&text, pdr_buf_str(&s->line), used, used, s->width);
    put_number(s, seq);
    put_number(s, turn);
    put_name(s, who, s->who, CLI_CYAN);
    if (s->to > 0)
        put_name(s, to, s->to, CLI_DIM);
    fprintf(s->out, "%s%s%.*s%s\n", cli_on(s->colored, color), lead,
            (int)text.len, text.ptr, cli_off(s->colored));
    pdr_buf_clear(&s->line);
    pdr_buf_dispose(&text);
}

/* Has this channel had the message, or made it? */
static bool has_had(const struct show *s, pdr_str key,
                    const pdr_chat_message *m)
{
    pdr_chat_channel c;

    for (size_t i = 0; pdr_chat_state_channel(&c, s->g.state, i); i++) {
        if (pdr_str_equal(c.key, key))
            return c.cursor >= m->seq || pdr_str_equal(m->origin, key);
    }
    return false;
}

/* "all", or those who have it, but for `who` said it. */
static void put_to(pdr_buf *out, const struct show *s,
                   const pdr_chat_message *m, pdr_str who)
{
    pdr_chat_participant p;
    bool is_all = true;

    for (size_t i = 0; pdr_chat_state_participant(&p, s->g.state, i); i++) {
        const pdr_str name = p.name.len > 0 ? p.name : p.id;

        if (pdr_str_equal(name, who))
            continue;
        if (!has_had(s, p.key, m)) {
            is_all = false;
            continue;
        }
        cli_put(out, out->len > 0 ? ", " : "");
        cli_must(pdr_buf_append(out, name, NULL), NULL);
    }
    if (is_all)
        pdr_buf_clear(out);
    if (out->len == 0)
        cli_put(out, is_all ? "all" : "nobody yet");
}

/* Turns up to `number` that have no end, or were given up. */
static void show_ends(struct show *s, uint64_t number)
{
    pdr_chat_turn turn;

    for (; pdr_chat_state_turn(&turn, s->g.state, s->turn) &&
           turn.number <= number;
         s->turn++) {
        if (turn.end == PDR_TURN_ENDED)
            continue;
        cli_put(&s->line,
                turn.end == PDR_TURN_OPEN ? "has not ended" : "aborted: ");
        if (turn.end == PDR_TURN_ABORTED)
            cli_must(pdr_buf_append(&s->line, turn.why, NULL), NULL);
        put_row(s, 0, turn.number == s->told ? 0 : turn.number, turn.agent_id,
                pdr_str_c(""), "", CLI_RED);
    }
}

/* What a part of a message says, into `line`; gives what is put before it. */
static const char *put_part(struct show *s, const pdr_value *content)
{
    struct doc_content c = doc_content_in(content, PDR_SHAPE_SK);
    bool utf8 = s->g.cli->utf8;

    if (c.part != DOC_PART_RESULT) {
        grp_put_content(&s->line, content, &s->scratch);
        return c.part != DOC_PART_CALL ? "" : utf8 ? "  → " : "  -> ";
    }
    cli_must(pdr_buf_append(&s->line, doc_result(&c, &s->scratch), NULL), NULL);
    return utf8 ? "  ← " : "  <- ";
}

/* A line for each part. */
static void show_message(struct show *s, const pdr_chat_message *m)
{
    uint64_t seq = m->seq, turn = m->turn != s->told ? m->turn : 0;
    pdr_buf who = PDR_BUF_INIT(SIZE_MAX), to = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;

    grp_put_who(&who, m->value);
    put_to(&to, s, m, pdr_buf_str(&who));
    pdr_iter_init(&it, pdr_message_contents(m->value, PDR_SHAPE_SK));
    while (pdr_iter_next(&it)) {
        const char *lead = put_part(s, it.value);

        put_row(s, seq, turn, pdr_buf_str(&who), pdr_buf_str(&to), lead,
                lead[0] != '\0' ? CLI_DIM : "");
        seq = turn = 0;
        pdr_buf_clear(&who);
        pdr_buf_clear(&to);
    }
    if (seq > 0) /* it has none */
        put_row(s, seq, turn, pdr_buf_str(&who), pdr_buf_str(&to), "", "");
    s->told = m->turn;
    pdr_buf_dispose(&who);
    pdr_buf_dispose(&to);
}

/* Do participants have keys? Files of others have none. */
static bool has_keys(const struct show *s)
{
    pdr_chat_participant p;

    return pdr_chat_state_participant(&p, s->g.state, 0) && p.key.ptr != NULL;
}

/* How wide names are. */
static void measure(struct show *s, uint64_t first, uint64_t count)
{
    pdr_buf to = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_message m;
    pdr_chat_turn turn;

    for (uint64_t seq = first; seq <= count; seq++) {
        size_t cells = 0;

        if (!pdr_chat_state_message(&m, s->g.state, seq))
            continue;
        pdr_buf_clear(&s->line);
        grp_put_who(&s->line, m.value);
        cells = cli_cells(pdr_buf_str(&s->line), CLI_TEXT_LINE);
        s->who = cells > s->who ? cells : s->who;
        if (!has_keys(s))
            continue;
        pdr_buf_clear(&to);
        put_to(&to, s, &m, pdr_buf_str(&s->line));
        cells = cli_cells(pdr_buf_str(&to), CLI_TEXT_LINE);
        s->to = cells > s->to ? cells : s->to;
    }
    for (size_t i = 0; pdr_chat_state_turn(&turn, s->g.state, i); i++)
        if (cli_cells(turn.agent_id, CLI_TEXT_LINE) > s->who)
            s->who = cli_cells(turn.agent_id, CLI_TEXT_LINE);
    s->who = s->who < MAX_WHO ? s->who : MAX_WHO;
    s->to = s->to < MAX_WHO ? s->to : MAX_WHO;
    pdr_buf_clear(&s->line);
    pdr_buf_dispose(&to);
}

static uint64_t first_shown(const struct show *s)
{
    uint64_t count = pdr_chat_state_message_count(s->g.state);

    return s->last > 0 && s->last < count ? count - s->last + 1 : 1;
}

static void show_log(struct show *s)
{
    uint64_t count = pdr_chat_state_message_count(s->g.state);
    uint64_t first = first_shown(s);
    pdr_chat_message m, next;

    if (count == 0 && pdr_chat_state_turn_count(s->g.state) == 0)
        return;
    measure(s, first, count);
    fprintf(s->out, "\n%s%5s  %5s  %-*s  ", cli_on(s->colored, CLI_BOLD), "#",
            "TURN", (int)s->who, "WHO");
    if (s->to > 0)
        fprintf(s->out, "%-*s  ", (int)s->to, "TO");
    fprintf(s->out, "WHAT%s\n", cli_off(s->colored));
    for (uint64_t seq = first; pdr_chat_state_message(&m, s->g.state, seq);
         seq++) {
        if (seq == first) /* ends of turns that are not shown are not, either */
            while (first > 1 && m.turn > 0 && s->turn + 1 < m.turn)
                s->turn++;
        if (m.turn > 0)
            show_ends(s, m.turn - 1);
        show_message(s, &m);
        if (m.turn > 0 &&
            (!pdr_chat_state_message(&next, s->g.state, seq + 1) ||
             next.turn != m.turn))
            show_ends(s, m.turn);
    }
    show_ends(s, UINT64_MAX);
}

/* --- who takes part ------------------------------------------------------- */

/* "baker, miller": who has this channel. */
static void put_owners(struct show *s, pdr_str key)
{
    pdr_chat_participant p;

    for (size_t i = 0; pdr_chat_state_participant(&p, s->g.state, i); i++) {
        if (p.key.ptr == NULL || !pdr_str_equal(p.key, key))
            continue;
        cli_put(&s->line, s->line.len > 0 ? ", " : "");
        cli_must(pdr_buf_append(&s->line, p.name.len > 0 ? p.name : p.id, NULL),
                 NULL);
    }
}

static void end_grid(struct show *s, struct ses_grid *grid)
{
    if (ses_grid_rows(grid) > 0) {
        fputs("\n", s->out);
        ses_grid_flush(grid, s->out, s->colored, s->width);
    }
    ses_grid_free(grid);
}

static void show_participants(struct show *s)
{
    static const struct ses_column columns[] = {
        {"AGENT", false, 8}, {"NAME", false, 8}, {"TYPE", false, 12}};
    struct ses_grid grid;
    pdr_chat_participant p;

    ses_grid_init(&grid, columns, CLI_COUNT(columns));
    for (size_t i = 0; pdr_chat_state_participant(&p, s->g.state, i); i++) {
        ses_grid_put(&grid, p.id);
        ses_grid_put(&grid,
                     pdr_str_equal(p.id, p.name) ? pdr_str_c("") : p.name);
        ses_grid_put(&grid, grp_short_name(p.type));
    }
    end_grid(s, &grid);
}

static void show_channels(struct show *s)
{
    static const struct ses_column columns[] = {{"CHANNEL", false, 12},
                                                {"KEY", false, 9},
                                                {"HAS HAD", false, 0},
                                                {"FOR", false, 8}};
    uint64_t count = pdr_chat_state_message_count(s->g.state);
    struct ses_grid grid;
    pdr_chat_channel c;

    ses_grid_init(&grid, columns, CLI_COUNT(columns));
    for (size_t i = 0; pdr_chat_state_channel(&c, s->g.state, i); i++) {
        put_owners(s, c.key);
        if (s->line.len == 0 && has_keys(s))
            cli_put(&s->line, "nobody: parked");
        ses_grid_put(&grid, grp_short_name(c.kind));
        ses_grid_put(&grid,
                     pdr_str_n(c.key.ptr, c.key.len < 12 ? c.key.len : 12));
        ses_grid_putf(&grid, "%ju of %ju", (uintmax_t)c.cursor,
                      (uintmax_t)count);
        ses_grid_put(&grid, pdr_buf_str(&s->line));
        pdr_buf_clear(&s->line);
    }
    end_grid(s, &grid);
}

/* "bakery: 9 messages, 6 turns, revision 19; the conversation is over" */
static void show_facts(struct show *s)
{
    const struct grp *g = &s->g;
    uint64_t count = pdr_chat_state_message_count(g->state);
    pdr_chat_info info;
    char digits[32];

    pdr_chat_state_info(&info, g->state);
    cli_show_cut(&s->line,
                 pdr_str_c(g->id != NULL ? g->id : cli_input_name(g->file)),
                 CLI_TEXT_LINE, 80);
    cli_putf(&s->line, ": %s message%s", cli_number(digits, count),
             count == 1 ? "" : "s");
    if (info.turn > 0)
        cli_putf(&s->line, ", %s turn%s", cli_number(digits, info.turn),
                 info.turn == 1 ? "" : "s");
    if (g->file != NULL)
        cli_putf(&s->line, ", form %s", grp_form_name(g));
    else
        cli_putf(&s->line, ", revision %s", cli_number(digits, info.revision));
    fprintf(s->out, "%s%.*s%s%s\n", cli_on(s->colored, CLI_BOLD),
            (int)s->line.len, s->line.ptr, cli_off(s->colored),
            info.is_complete ? "; the conversation is over" : "");
    pdr_buf_clear(&s->line);
}

/* --- for programs --------------------------------------------------------- */

static void member_str(pdr_builder *to, const char *name, pdr_str text)
{
    if (text.ptr != NULL)
        cli_member_text(to, name, text);
}

static void member_turns(pdr_builder *to, const pdr_chat_state *state)
{
    static const char *const ends[] = {"open", "ended", "aborted"};
    pdr_chat_turn turn;

    pdr_builder_name(to, pdr_str_c("turns"));
    pdr_builder_array(to);
    for (size_t i = 0; pdr_chat_state_turn(&turn, state, i); i++) {
        pdr_builder_object(to);
        cli_member_count(to, "turn", turn.number);
        cli_member_text(to, "agent", turn.agent_id);
        cli_member_text(to, "end", pdr_str_c(ends[turn.end]));
        member_str(to, "why", turn.why);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
}

static void member_parts(pdr_builder *to, const pdr_chat_state *state)
{
    pdr_chat_participant p;
    pdr_chat_channel c;

    pdr_builder_name(to, pdr_str_c("participants"));
    pdr_builder_array(to);
    for (size_t i = 0; pdr_chat_state_participant(&p, state, i); i++) {
        pdr_builder_object(to);
        member_str(to, "id", p.id);
        member_str(to, "name", p.name);
        member_str(to, "type", p.type);
        member_str(to, "channel", p.key);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
    pdr_builder_name(to, pdr_str_c("channels"));
    pdr_builder_array(to);
    for (size_t i = 0; pdr_chat_state_channel(&c, state, i); i++) {
        pdr_builder_object(to);
        member_str(to, "key", c.key);
        member_str(to, "kind", c.kind);
        cli_member_count(to, "cursor", c.cursor);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
}

static void print_object(const struct show *s)
{
    const struct grp *g = &s->g;
    pdr_builder *to = ses_object_new();
    pdr_chat_message m;
    pdr_chat_info info;

    pdr_chat_state_info(&info, g->state);
    if (g->file != NULL) {
        cli_member_text(to, "file", pdr_str_c(cli_input_name(g->file)));
    } else {
        cli_member_text(to, "store", pdr_str_c(sto_name(&g->from)));
        cli_member_text(to, "tenant", pdr_str_c(sto_tenant(&g->from)));
        cli_member_text(to, "session", pdr_str_c(g->id));
    }
    cli_member_text(to, "form", pdr_str_c(grp_form_name(g)));
    member_str(to, "id", info.id);
    cli_member_count(to, "epoch", info.epoch);
    cli_member_count(to, "revision", info.revision);
    cli_member_count(to, "count", pdr_chat_state_message_count(g->state));
    cli_member_count(to, "lastTurn", info.turn);
    cli_member_bool(to, "complete", info.is_complete);
    member_turns(to, g->state);
    pdr_builder_name(to, pdr_str_c("messages"));
    pdr_builder_array(to);
    for (uint64_t seq = first_shown(s);
         pdr_chat_state_message(&m, g->state, seq); seq++) {
        pdr_builder_object(to);
        grp_member_message(to, &m);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
    member_parts(to, g->state);
    ses_object_print(g->cli, stdout, to);
}

/* --- the command ---------------------------------------------------------- */

static int show_chat(struct show *s)
{
    struct cli *cli = s->g.cli;
    struct cli_pager pager;

    if (cli_is_json(cli)) {
        print_object(s);
        return 0;
    }
    cli_pager_begin(&pager, cli, !s->no_pager);
    s->out = pager.out;
    s->colored = cli->color_out;
    s->width = !cli->tty_out            ? 0
               : cli->width < MAX_WIDTH ? cli->width
                                        : MAX_WIDTH;
    show_facts(s);
    show_log(s);
    show_participants(s);
    show_channels(s);
    return cli_pager_end(&pager, cli, 0);
}

static int read_chat(struct show *s)
{
    struct grp *g = &s->g;
    pdr_err err = PDR_ERR_INIT;
    int status = grp_place_check(g);

    if (status == 0 && g->file != NULL)
        return g->from.uri == NULL
                   ? grp_file_open(g)
                   : doc_usage(g->cli, "--file and --store",
                               "only one of them can be given", "");
    if (status == 0)
        status = ses_store_check(g->cli, &g->from);
    if (status == 0 && grp_load(g, &err) != PDR_OK)
        status = grp_fail(g, NULL, &err);
    return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct show s = {.g.cli = cli,
                     .line = PDR_BUF_INIT(SIZE_MAX),
                     .scratch = PDR_BUF_INIT(SIZE_MAX)};
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_MAY("ID", &s.g.id, "session of the chat"),
        CLI_TEXT(0, "file", "FILE", &s.g.file,
                 "a saved chat in its place; - is standard input"),
        GRP_KEY_ROWS(&s.g),
        CLI_U64('n', "last", "N", &s.last, 1, UINT32_MAX,
                "only the last messages"),
        CLI_FLAG(0, "no-pager", &s.no_pager, "print it directly"),
        SES_STORE_ROWS(&s.g.from),
    };
    if (cli_parse(cli, opts, CLI_COUNT(opts), argc, argv)) {
        status = read_chat(&s);
        if (status == 0)
            status = show_chat(&s);
    } else {
        status = cli->status;
    }
    pdr_buf_dispose(&s.line);
    pdr_buf_dispose(&s.scratch);
    grp_free(&s.g);
    return status;
}

const struct cli_command cli_cmd_group_show = {
    .name = "group show",
    .summary = "who said what to whom in a chat, and who is how far",
    .usage = "[OPTIONS] [--store URI] ID | [OPTIONS] --file FILE",
    .run = run};
