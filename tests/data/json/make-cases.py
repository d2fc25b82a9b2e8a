#!/usr/bin/env python3
"""Write the case folders beside this file; see README.md.

The tables below are the corpus: the folders are committed so that a test needs
no Python, this file is what a reviewer reads. Every verdict was written by hand
from RFC 8259. Two checks keep slips out: the expected output of a valid case is
the input without the white space between tokens, found by a scanner of ten
lines, and the json module of Python must agree with the verdict unless the case
is marked as one of its known differences.
"""
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CUT_PATH = "..." + "/0" * 62  # 128 times "/0", cut at the front to 127 bytes

# No comma, colon or closing bracket where one must be.
SEPARATOR = "unexpected_byte"

seen = set()


def compact(text):
    """The text without white space outside of strings."""
    out, in_string, escaped = bytearray(), False, False
    for byte in text:
        if in_string or byte not in b" \t\n\r":
            out.append(byte)
        if escaped:
            escaped = False
        elif in_string and byte == 0x5C:
            escaped = True
        elif byte == 0x22:
            in_string = not in_string
    return bytes(out)


def python_accepts(text):
    try:
        json.loads(text.decode("utf-8"))
        return True
    except (ValueError, RecursionError):
        return False


def write(kind, name, files):
    if name in seen:
        sys.exit("two cases are called " + name)
    seen.add(name)
    folder = os.path.join(HERE, kind, name)
    os.makedirs(folder)
    for file, content in files.items():
        if content is not None:
            with open(os.path.join(folder, file), "wb") as out:
                out.write(content)


def good(name, text, options=None):
    """A document that is read; `options` as in README.md."""
    if not python_accepts(text):
        sys.exit("Python refuses " + name)
    write("valid", name, {"input": text, "output": compact(text),
                          "options": options})


def bad(name, before, rest, reason, path="", options=None, python=False):
    """A document that is refused at the first byte of `rest`.

    `python`: the json module of Python takes it all the same.
    """
    text = before + rest
    if python_accepts(text) != python:
        sys.exit("Python disagrees about " + name)
    line = "%s %d %s" % (reason, len(before), path)
    write("invalid", name, {"input": text, "options": options,
                            "error": line.rstrip(" ").encode() + b"\n"})


def bad_escape(name, before, rest, path="/0"):
    """An escape that is none; its offset is that of the backslash."""
    at = before.rindex(b"\\")
    bad(name, before[:at], before[at:] + rest, "bad_escape", path)


def cut(name, text, path="", reason="unexpected_end"):
    """A document that ends too early."""
    bad(name, text, b"", reason, path)


# --- structure ---------------------------------------------------------------

def structure():
    good("array-empty", b"[]")
    good("array-one", b"[1]")
    good("array-all-kinds", b'[null,true,false,0,"",[],{}]')
    good("array-nested", b"[[],[[]],[[[]]]]")
    good("array-of-objects", b'[{"a":1},{"a":2}]')
    good("object-empty", b"{}")
    good("object-one", b'{"a":1}')
    good("object-all-kinds",
         b'{"n":null,"t":true,"f":false,"i":0,"s":"","a":[],"o":{}}')
    good("object-nested", b'{"a":{"b":{"c":{}}}}')
    good("object-order-kept", b'{"z":1,"a":2,"m":3,"A":4}')
    good("object-name-empty", b'{"":1}')
    good("object-name-empty-twice", b'{"":1,"":2}')
    good("object-duplicates", b'{"a":1,"b":2,"a":3}')
    good("object-duplicates-equal", b'{"a":1,"a":1}')
    good("object-duplicates-by-escape", b'{"a":1,"\\u0061":2}')
    good("object-duplicates-nested", b'[{"a":{"b":1,"b":2},"a":[]}]')
    good("object-name-escaped", b'{"\\u0000\\n\\"\\\\":1}')
    good("object-name-lone-surrogate", b'{"\\ud800":1,"\\udc00":2}')
    good("object-name-multibyte", '{"é":1,"漢":2,"😀":3}'.encode())
    good("object-name-like-pointer", b'{"a/b":1,"m~n":2,"0":3,"-":4}')
    good("object-name-long", b'{"' + b"n" * 300 + b'":1}')
    for kind in ("null", "true", "false", "0", "-1.5e3", '""', '"a"', "[]", "{}"):
        name = {"0": "zero", "-1.5e3": "number", '""': "string-empty",
                '"a"': "string", "[]": "array", "{}": "object"}.get(kind, kind)
        good("root-" + name, kind.encode())

    cut("array-open", b"[", "/0")
    cut("array-open-after-value", b"[1")
    cut("array-open-after-comma", b"[1,", "/1")
    cut("array-open-nested", b"[[1]")
    cut("array-open-in-object", b'{"a":[1,2', "/a")
    bad("array-close-only", b"", b"]", "unexpected_byte")
    bad("array-close-twice", b"[]", b"]", "trailing_data")
    bad("array-closed-as-object", b"[1", b"}", SEPARATOR)
    bad("array-empty-closed-as-object", b"[", b"}", "unexpected_byte", "/0")
    bad("array-comma-only", b"[", b",]", "unexpected_byte", "/0")
    bad("array-comma-first", b"[", b",1]", "unexpected_byte", "/0")
    bad("array-comma-twice", b"[1,", b",2]", "unexpected_byte", "/1")
    bad("array-comma-last", b"[1,", b"]", "unexpected_byte", "/1")
    bad("array-comma-missing", b"[1 ", b"2]", SEPARATOR)
    bad("array-comma-missing-strings", b'["a"', b'"b"]', SEPARATOR)
    bad("array-comma-missing-arrays", b"[[]", b"[]]", SEPARATOR)
    bad("array-colon", b"[1", b":2]", SEPARATOR)
    bad("array-colon-after-string", b'["a"', b":1]", SEPARATOR)
    bad("array-semicolon", b"[1", b";2]", SEPARATOR)
    bad("array-word", b"[", b"a]", "unexpected_byte", "/0")
    bad("array-third-element", b"[1,2,", b"?]", "unexpected_byte", "/2")
    bad("array-deep-place", b'{"a":[0,1,2,{"b":[', b"x]}]}", "unexpected_byte",
        "/a/3/b/0")

    cut("object-open", b"{")
    cut("object-open-after-name", b'{"a"')
    cut("object-open-after-colon", b'{"a":', "/a")
    cut("object-open-after-value", b'{"a":1')
    cut("object-open-after-comma", b'{"a":1,')
    cut("object-open-in-name", b'{"a')
    bad("object-close-only", b"", b"}", "unexpected_byte")
    bad("object-close-twice", b"{}", b"}", "trailing_data")
    bad("object-closed-as-array", b'{"a":1', b"]", SEPARATOR)
    bad("object-empty-closed-as-array", b"{", b"]", "unexpected_byte")
    bad("object-comma-only", b"{", b",}", "unexpected_byte")
    bad("object-comma-first", b"{", b',"a":1}', "unexpected_byte")
    bad("object-comma-twice", b'{"a":1,', b',"b":2}', "unexpected_byte")
    bad("object-comma-last", b'{"a":1,', b"}", "unexpected_byte")
    bad("object-comma-missing", b'{"a":1 ', b'"b":2}', SEPARATOR)
    bad("object-comma-for-colon", b'{"a"', b",1}", SEPARATOR)
    bad("object-colon-missing", b'{"a" ', b"1}", SEPARATOR)
    bad("object-colon-twice", b'{"a":', b":1}", "unexpected_byte", "/a")
    bad("object-equals", b'{"a"', b"=1}", SEPARATOR)
    bad("object-value-missing", b'{"a":', b"}", "unexpected_byte", "/a")
    bad("object-value-missing-comma", b'{"a":', b',"b":1}', "unexpected_byte",
        "/a")
    bad("object-name-bare", b"{", b"a:1}", "unexpected_byte")
    bad("object-name-number", b"{", b"1:1}", "unexpected_byte")
    bad("object-name-null", b"{", b"null:1}", "unexpected_byte")
    bad("object-name-array", b"{", b"[]:1}", "unexpected_byte")
    bad("object-name-single-quotes", b"{", b"'a':1}", "unexpected_byte")
    bad("object-name-only", b'{"a"', b"}", SEPARATOR)
    bad("object-second-name-bare", b'{"a":1,', b"b:2}", "unexpected_byte")
    bad("object-nested-place", b'{"a":{"b":1,"c":{"d":', b"+}}}",
        "unexpected_byte", "/a/c/d")
    bad("object-place-escapes", b'{"a/b":{"m~n":', b"?}}", "unexpected_byte",
        "/a~1b/m~0n")
    bad("object-place-empty-name", b'{"":[', b"?]}", "unexpected_byte", "//0")
    bad("object-place-deep-empty-names", b'{"":' * 100, b"?", "unexpected_byte",
        "/" * 100)
    bad("array-place-deep", b"[" * 60 + b"1", b"?", SEPARATOR, "/0" * 59)
    bad("array-place-cut", b"[" * 100 + b"1", b"?", SEPARATOR, CUT_PATH)
    bad("object-place-cut-in-name", b'{"' + b"n" * 200 + b'":', b"?",
        "unexpected_byte", "..." + "n" * 124)
    bad("object-place-escaped", b'{"\\u0001\\n\\u00e9":', b"?", "unexpected_byte",
        "/\\u0001\\n\u00e9")
    bad("object-place-after-sibling", b'{"a":[1,2],"b":', b"?}",
        "unexpected_byte", "/b")
    bad("object-place-after-closed", b'{"a":{"x":1}', b"?}", SEPARATOR)


# --- the document as a whole -------------------------------------------------

def document():
    cut("empty", b"", reason="empty_input")
    cut("white-space-only", b" \t\r\n", reason="empty_input")
    bad("two-documents", b"1 ", b"2", "trailing_data")
    bad("two-objects", b"{}", b"{}", "trailing_data")
    bad("two-lines", b'{"a":1}\n', b'{"b":2}\n', "trailing_data")
    bad("trailing-word", b"[1] ", b"x", "trailing_data")
    bad("trailing-comma", b"[1]", b",", "trailing_data")
    bad("trailing-nul", b"[1]", b"\0", "trailing_data")
    bad("trailing-nul-after-space", b"[1] ", b"\0", "trailing_data")
    bad("trailing-bad-utf8", b"[1]", b"\xff", "trailing_data")
    bad("trailing-comment", b"[1] ", b"// end", "trailing_data")
    bad("trailing-quote", b'"a"', b'"', "trailing_data")
    bad("comment-block", b"", b"/* a */ 1", "unexpected_byte")
    bad("comment-line", b"[1,\n", b"// a\n2]", "unexpected_byte", "/1")
    bad("comment-hash", b"[", b"# a\n1]", "unexpected_byte", "/0")
    bad("comment-after-value", b"[1 ", b"/* a */]", SEPARATOR)
    bad("comment-in-object", b"{", b'/* a */"a":1}', "unexpected_byte")
    bad("single-quotes", b"[", b"'a']", "unexpected_byte", "/0")
    bad("nul-first", b"", b"\0", "unexpected_byte")
    bad("nul-inside", b"[1,", b"\x002]", "unexpected_byte", "/1")
    bad("garbage", b"", b"hello", "unexpected_byte")
    bad("html", b"", b"<html>", "unexpected_byte")

    good("depth-127-arrays", b"[" * 127 + b"]" * 127)
    good("depth-128-arrays", b"[" * 128 + b"]" * 128)
    good("depth-128-scalar-inside", b"[" * 128 + b"1" + b"]" * 128)
    good("depth-128-objects", b'{"a":' * 127 + b"{}" + b"}" * 127)
    good("depth-128-twice", b"[" + (b"[" * 127 + b"]" * 127 + b",") * 2 + b"0]")
    good("depth-128-mixed", b'[{"a":' * 64 + b"0" + b"}]" * 64)
    bad("depth-129-arrays", b"[" * 128, b"[" + b"]" * 129, "too_deep", CUT_PATH,
        python=True)
    bad("depth-129-object", b"[" * 128, b"{}" + b"]" * 128, "too_deep", CUT_PATH,
        python=True)
    bad("depth-129-objects", b'{"a":' * 128, b"{}" + b"}" * 128, "too_deep",
        CUT_PATH.replace("0", "a"), python=True)
    bad("depth-100000", b"[" * 128, b"[" * 99872, "too_deep", CUT_PATH)

    bom = b"\xef\xbb\xbf"
    bad("bom-utf8", b"", bom + b"[]", "byte_order_mark")
    bad("bom-utf8-only", b"", bom, "byte_order_mark")
    bad("bom-utf8-after-space", b" ", bom + b"[]", "unexpected_byte")
    bad("bom-utf8-inside", b"[", bom + b"]", "unexpected_byte", "/0")
    bad("bom-utf8-behind", b"[]", bom, "trailing_data")
    good("bom-utf8-in-string", b'["' + bom + b'"]')
    for order, mark in (("le", b"\xff\xfe"), ("be", b"\xfe\xff")):
        for what, text in (("object", '{"a":1}'), ("string", '"é"'),
                           ("number", "1")):
            wide = text.encode("utf-16-" + order)
            bad("utf16-%s-%s" % (order, what), b"", wide, "utf16_input")
            bad("utf16-%s-bom-%s" % (order, what), b"", mark + wide,
                "utf16_input")
        bad("utf16-%s-bom-only" % order, b"", mark, "utf16_input")
        bad("utf16-%s-white-space-first" % order, b"",
            "\n[]".encode("utf-16-" + order), "utf16_input")


def white_space():
    good("space-around", b" 1 ")
    good("space-tab", b"\t[\t1\t,\t2\t]\t")
    good("space-line-feed", b'\n{\n"a"\n:\n1\n}\n')
    good("space-carriage-return", b'\r{\r"a"\r:\r1\r,\r"b"\r:\r2\r}\r')
    good("space-crlf", b'\r\n[\r\n1,\r\n2\r\n]\r\n')
    good("space-all-kinds", b' \t\n\r[ \t\n\r] \t\n\r')
    good("space-in-empty-object", b"{ \n }")
    good("space-in-string-kept", b'["  a  \\t  "]')
    good("space-before-comma", b"[1 ,2 , 3]")
    good("space-long", b" " * 200 + b"[" + b"\n" * 200 + b"]" + b"\t" * 200)
    good("space-none", b'{"a":[1,{"b":[true,null]}]}')
    for name, raw in (("nbsp", "\u00a0"), ("form-feed", "\f"),
                      ("vertical-tab", "\v"), ("line-separator", "\u2028"),
                      ("next-line", "\u0085"), ("ideographic", "\u3000"),
                      ("zero-width", "\u200b"), ("backspace", "\b"),
                      ("delete", "\x7f"), ("nul", "\0")):
        text = raw.encode()
        bad("space-not-%s-before" % name, b"[ ", text + b"1]", "unexpected_byte",
            "/0")
        bad("space-not-%s-after" % name, b"[1", text + b"]",
            SEPARATOR)
    bad("space-not-form-feed-first", b"", b"\f1", "unexpected_byte")
    bad("space-not-nbsp-last", b"1", b"\xc2\xa0", "trailing_data")
    bad("space-not-in-name-place", b"{", b'\v"a":1}', "unexpected_byte")
    bad("space-not-before-colon", b'{"a"', b"\f:1}", SEPARATOR)


# --- scalars -----------------------------------------------------------------

def numbers():
    texts = ("0 -0 1 -1 9 10 12345678901234567890 "
             "123456789012345678901234567890 -123456789012345678901234567890 "
             "9223372036854775807 9223372036854775808 -9223372036854775808 "
             "-9223372036854775809 18446744073709551615 18446744073709551616 "
             "9007199254740993 0.0 -0.0 0.1 1.0 1.10 1.1000 0.10 10.01 -1.5 "
             "3.141592653589793238462643383279502884197 "
             "0e0 0E0 0e+0 0e-0 -0e-0 1e1 1E1 1e+1 1E+1 1e-1 1E-1 1e01 1e00 "
             "1e0001 1E400 -1E400 1e-400 1e309 2e308 1.7976931348623157e308 "
             "4.9e-324 2.4703282292062327e-324 0.1e1 1.5e10 1.5E-10 0e400 "
             "0.00000000000000000000000000000000000000000000000000001 "
             "1e999999999999999999999 -1.0e-999999999999999999999 "
             "100000000000000000000000 1.0e+00").split()
    for i, text in enumerate(texts):
        good("number-%02d" % i, b"[" + text.encode() + b"]")
        if text in ("-0", "1.10", "1E400", "0e-0"):
            good("number-root-%02d" % i, text.encode())
    good("number-300-digits", b"[" + b"1234567890" * 30 + b"]")
    good("number-300-places", b"[0." + b"0123456789" * 30 + b"e-7]")
    good("number-in-object", b'{"a":1.10,"b":-0,"c":1E400}')
    good("number-before-space", b"[1.5 ,-0\n,2e2\t]")

    for name, before, rest in (
            ("leading-zero", "0", "1"), ("leading-zero-minus", "-0", "1"),
            ("leading-zeros", "0", "0"), ("leading-zero-fraction", "0", "1.5"),
            ("hexadecimal", "0", "x1"), ("octal", "0", "o7"),
            ("two-points", "1.2", ".3"), ("two-points-at-once", "1.", ".3"),
            ("point-then-exponent", "1.", "e5"), ("letter-after", "1", "a"),
            ("two-exponents", "1e5", "e6"), ("exponent-fraction", "1e5", ".5"),
            ("exponent-letter", "1e", "a"), ("exponent-two-signs", "1e+", "-1"),
            ("underscore", "1", "_000"), ("suffix", "1", "f"),
            ("minus-inside", "1", "-1"), ("plus-inside", "1", "+1"),
            ("minus-space", "-", " 1"), ("minus-point", "-", ".5"),
            ("minus-twice", "-", "-1"), ("minus-plus", "-", "+1"),
            ("minus-letter", "-", "a"), ("full-width-after", "1", "\uff11"),
            ("nul-after", "12", "\0"), ("quote-after", "1", '"'),
            ("bracket-after", "1", "[]"), ("brace-after", "1", "{}"),
            ("word-after", "1", "true")):
        number_bad(name, before.encode(), rest.encode())
    for name, text in (("point", "1."), ("minus", "-"), ("exponent", "1e"),
                       ("exponent-plus", "1E+"), ("exponent-minus", "1e-"),
                       ("fraction-exponent", "1.5e"), ("zero-point", "-0.")):
        bad("number-%s-then-bracket" % name, b"[" + text.encode(), b"]",
            "bad_number", "/0")
        bad("number-%s-then-comma" % name, b'{"a":' + text.encode(), b',"b":1}',
            "bad_number", "/a")
        cut("number-%s-cut" % name, text.encode())
        cut("number-%s-cut-in-array" % name, b"[" + text.encode(), "/0")
    for name, text in (("plus", "+1"), ("point-first", ".5"), ("comma", ",5"),
                       ("full-width", "\uff11"), ("arabic-indic", "\u0661"),
                       ("dollar", "$1"), ("bare-e", "e5"),
                       ("parenthesis", "(1)"), ("minus-sign", "\u22121")):
        bad("number-%s" % name, b"[", text.encode() + b"]", "unexpected_byte",
            "/0")
        bad("number-%s-root" % name, b"", text.encode(), "unexpected_byte")


def number_bad(name, before, rest):
    """A byte that does not go on a number: where the number could have ended
    before it, what is missing is a separator; else the number is wrong."""
    if before[-1:] in (b"-", b".", b"+", b"e"):
        bad("number-" + name, b"[" + before, rest + b"]", "bad_number", "/0")
        bad("number-%s-root" % name, before, rest, "bad_number")
    else:
        bad("number-" + name, b"[" + before, rest + b"]", SEPARATOR)
        bad("number-%s-root" % name, before, rest, "trailing_data")


def literals():
    good("literal-all", b"[true,false,null]")
    good("literal-spaces", b"[ true , false , null ]")
    for word in ("true", "false", "null"):
        for end in range(1, len(word)):
            cut("literal-%s-cut-%d" % (word, end), word[:end].encode())
            bad("literal-%s-short-%d" % (word, end), b"[" + word[:end].encode(),
                b"]", "unexpected_byte", "/0")
        bad("literal-%s-upper" % word, b"[", word.upper().encode() + b"]",
            "unexpected_byte", "/0")
        bad("literal-%s-title" % word, b"[", word.title().encode() + b"]",
            "unexpected_byte", "/0")
        bad("literal-%s-last-upper" % word, b"[" + word[:-1].encode(),
            word[-1].upper().encode() + b"]", "unexpected_byte", "/0")
        bad("literal-%s-letter-after" % word, b"[" + word.encode(), b"x]",
            SEPARATOR)
        bad("literal-%s-digit-after" % word, word.encode(), b"1",
            "trailing_data")
    bad("literal-glued", b"true", b"false", "trailing_data")
    bad("literal-glued-in-array", b"[null", b"null]", SEPARATOR)
    bad("literal-glued-string", b'[true', b'"a"]', SEPARATOR)
    bad("literal-undefined", b"[", b"undefined]", "unexpected_byte", "/0")
    bad("literal-nan-almost", b"[", b"Nan]", "unexpected_byte", "/0")
    bad("literal-infinity-almost", b"[", b"Inf]", "unexpected_byte", "/0")
    bad("literal-none", b"[", b"None]", "unexpected_byte", "/0")
    bad("literal-nil", b"[n", b"il]", "unexpected_byte", "/0")
    bad("literal-yes", b"[", b"yes]", "unexpected_byte", "/0")

    bare = b"bare_tokens\n"
    for word in (b"NaN", b"Infinity", b"-Infinity"):
        name = word.decode().lower().replace("-", "minus-")
        good("bare-" + name, b"[" + word + b"]", bare)
        good("bare-root-" + name, word, bare)
        good("bare-member-" + name, b'{"a": ' + word + b', "b": 1.10}', bare)
        bad("bare-%s-not-asked-for" % name, b'{"a":[0,', word + b"]}",
            "bare_token", "/a/1", python=True)
        bad("bare-root-%s-not-asked-for" % name, b"", word, "bare_token",
            python=True)
    for name, before, rest in (
            ("nan-lower", b"[n", b"an]"), ("nan-upper", b"[N", b"AN]"),
            ("infinity-lower", b"[", b"infinity]"),
            ("inf", b"[", b"inf]"), ("inf-short", b"[Inf", b"]"),
            ("infinity-plus", b"[", b"+Infinity]"),
            ("infinity-minus-short", b"[-Inf", b"]")):
        bad("bare-%s" % name, before, rest, "unexpected_byte", "/0", bare)
    bad("bare-nan-minus", b"[-", b"NaN]", "bad_number", "/0", bare)
    bad("bare-infinity-minus-space", b"[-", b" Infinity]", "bad_number", "/0",
        bare)
    bad("bare-nan-glued", b"[NaN", b"N]", SEPARATOR, "", bare)
    bad("bare-infinity-glued", b"Infinity", b"1", "trailing_data", "", bare)
    bad("bare-as-name", b"{", b"NaN:1}", "unexpected_byte", "", bare)
    bad("bare-nan-cut", b"Na", b"", "unexpected_end", "", bare)
    bad("bare-infinity-cut", b"-Infinit", b"", "unexpected_end", "", bare)
    good("bare-option-changes-nothing", b'{"a":[1,-1,null,"NaN"]}', bare)


def strings():
    good("string-ascii", b'["' + bytes(c for c in range(0x20, 0x7F)
                                       if c not in b'"\\') + b'"]')
    good("string-delete-allowed", b'["\x7f"]')
    for c in '"\\/bfnrt':
        name = {'"': "quote", "\\": "backslash", "/": "slash"}.get(c, c)
        good("escape-" + name, b'["\\' + c.encode() + b'"]')
    good("escape-all-in-a-row", b'"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041"')
    good("escape-slash-beside-slash", b'["\\/","/"]')
    good("escape-nul", b'["\\u0000"]')
    good("escape-nul-inside", b'["a\\u0000b"]')
    good("escape-control", b'["\\u0001\\u001f\\u007f"]')
    good("escape-hex-lower", b'["\\u00e9\\uabcd"]')
    good("escape-hex-upper", b'["\\u00E9\\uABCD"]')
    good("escape-hex-mixed", b'["\\u00eF\\uaBcD"]')
    good("escape-letter", b'["\\u0061"]')
    good("escape-quote-as-u", b'["\\u0022\\u005c\\u002F"]')
    good("escape-noncharacter", b'["\\ufffe\\uffff\\ufdd0"]')
    good("escape-bom", b'["\\ufeff"]')
    good("escape-then-digits", b'["\\u00411234"]')
    good("escape-backslash-then-u", b'["\\\\u12"]')
    good("escape-backslash-last", b'["\\\\"]')
    good("surrogate-pair", b'["\\ud83d\\ude00"]')
    good("surrogate-pair-upper", b'["\\uD83D\\uDE00"]')
    good("surrogate-pair-first", b'["\\ud800\\udc00"]')
    good("surrogate-pair-last", b'["\\udbff\\udfff"]')
    good("surrogate-high-alone", b'["\\ud800"]')
    good("surrogate-high-last-alone", b'["\\udbff"]')
    good("surrogate-low-alone", b'["\\udc00"]')
    good("surrogate-low-last-alone", b'["\\uDFFF"]')
    good("surrogate-high-then-letter", b'["\\ud800a"]')
    good("surrogate-high-then-escape", b'["\\ud800\\n"]')
    good("surrogate-high-then-u", b'["\\ud800\\u0041"]')
    good("surrogate-two-highs", b'["\\ud800\\ud800"]')
    good("surrogate-two-lows", b'["\\udc00\\udc00"]')
    good("surrogate-reversed", b'["\\udc00\\ud800"]')
    good("surrogate-high-then-pair", b'["\\ud800\\ud83d\\ude00"]')
    good("surrogate-pair-then-low", b'["\\ud83d\\ude00\\ude00"]')
    good("string-empty-in-array", b'["",""]')
    good("string-like-json", b'["{\\"a\\":[1,2]}","[","]","{","}",":",","]')
    good("string-like-literal", b'["true","null","1"]')
    good("string-line-separators", '["\u2028\u2029\u0085"]'.encode())
    good("string-long", b'["' + b"abcdefghij" * 100 + b'"]')
    good("string-long-multibyte", '["{}"]'.format("é漢😀" * 100).encode())

    for c in range(0x20):
        bad("control-%02x" % c, b'["a', bytes([c]) + b'b"]',
            "control_in_string", "/0")
    bad("control-in-name", b'{"a', b'\n":1}', "control_in_string")
    bad("control-first-in-string", b'["', b'\t"]', "control_in_string", "/0")
    bad("control-nul-first-in-string", b'["', b'\0"]', "control_in_string", "/0")
    bad("control-nul-in-name", b'{"', b'\0":1}', "control_in_string")
    bad("control-last", b'["a', b"\n", "control_in_string", "/0")
    bad_escape("control-after-backslash", b'["a\\', b'\n"]')

    for c in "xaveBN0128'?U ":
        name = {"'": "apostrophe", "?": "question", " ": "space", "B": "upper-b",
                "N": "upper-n", "U": "upper-u"}.get(c, c)
        bad_escape("escape-not-" + name, b'["\\', c.encode() + b'0041"]')
    bad_escape("escape-not-nul", b'["\\', b'\0"]')
    bad_escape("escape-not-multibyte", b'["\\', 'é"]'.encode())
    bad_escape("escape-not-in-name", b'{"\\', b'x":1}', "")
    for digits in range(4):
        before = b'["\\u' + b"00e9"[:digits]
        bad_escape("escape-hex-bad-%d" % digits, before, b'g"]')
        bad_escape("escape-hex-short-%d" % digits, before, b'"]')
        cut("escape-hex-cut-%d" % digits, before, "/0")
    bad_escape("escape-hex-sign", b'["\\u', b'+041"]')
    bad_escape("escape-hex-space", b'["\\u', b' 041"]')
    bad_escape("escape-hex-0x", b'["\\u0', b'x41"]')
    bad_escape("escape-hex-braces", b'["\\u', b'{41}"]')
    bad_escape("escape-hex-full-width", b'["\\u004', '\uff11"]'.encode())
    bad_escape("escape-hex-neighbours-slash", b'["\\u004', b'/"]')
    bad_escape("escape-hex-neighbours-colon", b'["\\u004', b':"]')
    bad_escape("escape-hex-neighbours-at", b'["\\u004', b'@"]')
    bad_escape("escape-hex-neighbours-G", b'["\\u004', b'G"]')
    bad_escape("escape-hex-neighbours-backtick", b'["\\u004', b'`"]')
    bad_escape("surrogate-then-bad-escape", b'["\\ud800\\', b'x"]')
    bad_escape("surrogate-then-bad-hex", b'["\\ud800\\ud8', b'0"]')
    cut("string-open", b'"')
    cut("string-open-text", b'"abc')
    cut("string-open-in-array", b'["abc', "/0")
    cut("string-open-in-member", b'{"a":"b', "/a")
    cut("string-open-escaped-quote", b'"abc\\"')
    cut("string-open-backslash", b'"abc\\')
    cut("string-open-long", b'"' + b"a" * 100)


def utf8():
    edges = (("1-min-printable", 0x20), ("1-max", 0x7F), ("2-min", 0x80),
             ("2-max", 0x7FF), ("3-min", 0x800), ("3-below-surrogates", 0xD7FF),
             ("3-above-surrogates", 0xE000), ("3-noncharacter", 0xFFFE),
             ("3-max", 0xFFFF), ("4-min", 0x10000), ("4-noncharacter", 0x1FFFE),
             ("4-max", 0x10FFFF), ("4-middle", 0x80000))
    for name, code in edges:
        good("utf8-" + name, b'["' + chr(code).encode() + b'"]')
    good("utf8-all-lengths", '["a\u00e9\u6f22\U0001f600z"]'.encode())
    good("utf8-combining", '["e\u0301"]'.encode())

    wrong = (
        ("stray-continuation", b"", b"\x80"), ("stray-continuation-max", b"", b"\xbf"),
        ("stray-after-2", b"\xc3\xa9", b"\x80"),
        ("stray-after-4", b"\xf0\x9f\x98\x80", b"\x80"),
        ("overlong-2-nul", b"", b"\xc0\x80"), ("overlong-2-slash", b"", b"\xc0\xaf"),
        ("overlong-2-max", b"", b"\xc1\xbf"), ("overlong-3-min", b"", b"\xe0\x80\x80"),
        ("overlong-3-max", b"", b"\xe0\x9f\xbf"),
        ("overlong-4-min", b"", b"\xf0\x80\x80\x80"),
        ("overlong-4-max", b"", b"\xf0\x8f\xbf\xbf"),
        ("surrogate-min", b"", b"\xed\xa0\x80"), ("surrogate-max", b"", b"\xed\xbf\xbf"),
        ("surrogate-pair", b"", b"\xed\xa0\xbd\xed\xb8\x80"),
        ("above-max", b"", b"\xf4\x90\x80\x80"), ("lead-f5", b"", b"\xf5\x80\x80\x80"),
        ("lead-f7", b"", b"\xf7\xbf\xbf\xbf"), ("five-bytes", b"", b"\xf8\x88\x80\x80\x80"),
        ("six-bytes", b"", b"\xfc\x84\x80\x80\x80\x80"), ("byte-fe", b"", b"\xfe"),
        ("byte-ff", b"", b"\xff"), ("latin1", b"caf", b"\xe9"),
        ("cut-2", b"", b"\xc3"), ("cut-3-after-1", b"", b"\xe6"),
        ("cut-3-after-2", b"", b"\xe6\xbc"), ("cut-4-after-1", b"", b"\xf0"),
        ("cut-4-after-2", b"", b"\xf0\x9f"), ("cut-4-after-3", b"", b"\xf0\x9f\x98"),
        ("two-leads", b"", b"\xc3\xc3\xa9"), ("3-with-2-lead", b"", b"\xe6\xc3\xa9"))
    for name, before, rest in wrong:
        bad("utf8-%s" % name, b'["' + before, rest + b'"]', "bad_utf8", "/0")
        bad("utf8-%s-then-text" % name, b'["abcdefghijklmnopqrstuvwxyz' + before,
            rest + b'abcdefghijklmnopqrstuvwxyz"]', "bad_utf8", "/0")
    bad("utf8-cut-at-end-2", b'["a', b"\xc3", "bad_utf8", "/0")
    bad("utf8-cut-at-end-3", b'["a', b"\xe6\xbc", "bad_utf8", "/0")
    bad("utf8-cut-at-end-4", b'["a', b"\xf0\x9f\x98", "bad_utf8", "/0")
    bad("utf8-bad-in-name", b'{"a', b'\xff":1}', "bad_utf8")
    bad("utf8-bad-in-name-nested", b'[0,{"b":1,"a', b'\xc0\x80":1}', "bad_utf8",
        "/1")
    bad("utf8-bad-outside-string", b"[", b"\xff]", "unexpected_byte", "/0")
    bad("utf8-bad-between", b"[1", b"\x80,2]", SEPARATOR)
    bad("utf8-bad-first", b"", b"\x80", "unexpected_byte")


def main():
    for kind in ("valid", "invalid"):
        shutil.rmtree(os.path.join(HERE, kind), ignore_errors=True)
    for part in (structure, document, white_space, numbers, literals, strings,
                 utf8):
        part()
    print("%d cases" % len(seen))


main()
