/*
 * body_model.c - see body_model.h.
 */
#include "body_model.h"

static struct body_model say(enum body_verdict verdict, size_t offset)
{
    struct body_model result = {verdict, offset};

    return result;
}

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_word(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
}

/* One walk over text[begin, end), which has no white space around it. */
static struct body_model walk(const unsigned char *text, size_t begin,
                              size_t end, size_t depth)
{
    char open[PDR_MAX_DEPTH];
    size_t level = 0;
    bool inside = false,
         word = text[begin] != '{' && text[begin] != '[' && text[begin] != '"';

    for (size_t i = begin; i < end; i++) {
        unsigned char c = text[i];
        bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';

        if (word && !is_word(c))
            return say(BODY_BAD, i);
        if (inside && c == '\\') {
            i++; /* whatever follows is part of the string */
            if (i < end && text[i] < 0x20)
                return say(BODY_BAD, i);
        } else if (inside && c != '"') {
            if (c < 0x20)
                return say(BODY_BAD, i);
        } else if (c == '"') {
            inside = !inside;
            if (!inside && level == 0 && i + 1 < end)
                return say(BODY_BAD, i);
        } else if (opens && level == depth) {
            return say(BODY_TOO_DEEP, i);
        } else if (opens) {
            open[level++] = (char)c;
        } else if (closes) {
            if (open[--level] != (c == '}' ? '{' : '['))
                return say(BODY_BAD, i);
            if (level == 0 && i + 1 < end)
                return say(BODY_BAD, i);
        } else if (c >= 0x80 || c == '\\' || (c < 0x20 && !is_blank(c))) {
            return say(BODY_BAD, i);
        }
    }
    return inside || level > 0 ? say(BODY_BAD, end) : say(BODY_GOOD, 0);
}

struct body_model body_model_check(pdr_str body, size_t depth)
{
    const unsigned char *text = (const unsigned char *)body.ptr;
    size_t begin = 0, end = body.len;
    struct body_model result;

    while (begin < end && is_blank(text[begin]))
        begin++;
    while (end > begin && is_blank(text[end - 1]))
        end--;
    if (begin == end)
        return say(BODY_BAD, 0);
    result = walk(text, begin, end, depth);
    if (result.verdict == BODY_GOOD && pdr__utf8_valid_len(body) != body.len)
        return say(BODY_BAD, pdr__utf8_valid_len(body));
    return result;
}
