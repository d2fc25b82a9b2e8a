/*
 * simdjson_shim.cpp - simdjson's DOM behind C functions.
 *
 * WHY  simdjson is C++. The walks are written here and not in C over small
 *      functions, so that the compiler can inline simdjson's accessors, as in
 *      a program of its users.
 */
#include "simdjson_shim.h"

#include <cstring>
#include <new>
#include <string>

#include <simdjson.h>

static_assert(simdjson::SIMDJSON_PADDING <= BENCH_PADDING,
              "documents need more padding");

namespace dom = simdjson::dom;

struct shim {
    dom::parser parser;
    dom::element root;
};

const char *shim_version(void)
{
    static std::string version =
        std::to_string(simdjson::SIMDJSON_VERSION_MAJOR) + "." +
        std::to_string(simdjson::SIMDJSON_VERSION_MINOR) + "." +
        std::to_string(simdjson::SIMDJSON_VERSION_REVISION);

    return version.c_str();
}

const char *shim_kernel(void)
{
    static std::string name;

    name = simdjson::get_active_implementation()->name();
    return name.c_str();
}

struct shim *shim_new(size_t capacity)
{
    shim *made = new (std::nothrow) shim;

    if (made != nullptr && made->parser.allocate(capacity))
        return nullptr;
    return made;
}

/* The text is padded, so that simdjson need not copy it. */
bool shim_parse(struct shim *shim, const struct bench_text *text)
{
    return !shim->parser.parse(text->ptr, text->len, false).get(shim->root);
}

static void sum_element(struct bench_sums *sums, dom::element element)
{
    switch (element.type()) {
    case dom::element_type::OBJECT:
        sums->objects++;
        for (auto member : dom::object(element)) {
            sums->names++;
            bench_sums_text(sums, member.key.data(), member.key.size());
            sum_element(sums, member.value);
        }
        break;
    case dom::element_type::ARRAY:
        sums->arrays++;
        for (auto child : dom::array(element))
            sum_element(sums, child);
        break;
    case dom::element_type::STRING: {
        std::string_view text = element;
        sums->strings++;
        bench_sums_text(sums, text.data(), text.size());
        break;
    }
    case dom::element_type::BOOL:
        bench_sums_bool(sums, element);
        break;
    case dom::element_type::NULL_VALUE:
        sums->nulls++;
        break;
    default:
        bench_sums_number(sums, element);
        break;
    }
}

void shim_sums(struct bench_sums *sums, const struct shim *shim)
{
    *sums = bench_sums();
    sum_element(sums, shim->root);
}

static inline void touch_text(struct bench_touch *touch, std::string_view text)
{
    std::memcpy(touch->text + touch->len, text.data(), text.size());
    touch->len += text.size();
}

static void touch_element(struct bench_touch *touch, dom::element element)
{
    switch (element.type()) {
    case dom::element_type::OBJECT:
        for (auto member : dom::object(element)) {
            touch_text(touch, member.key);
            touch_element(touch, member.value);
        }
        break;
    case dom::element_type::ARRAY:
        for (auto child : dom::array(element))
            touch_element(touch, child);
        break;
    case dom::element_type::STRING:
        touch_text(touch, element);
        break;
    case dom::element_type::BOOL:
    case dom::element_type::NULL_VALUE:
        break;
    default:
        touch->number_sum += double(element);
        break;
    }
}

void shim_touch(struct bench_touch *touch, const struct shim *shim)
{
    touch->len = 0;
    touch->number_sum = 0;
    touch_element(touch, shim->root);
}
