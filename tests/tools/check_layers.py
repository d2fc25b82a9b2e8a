"""check-layers finds every kind of include that goes where it must not."""
from tree import accepts, record, refuses

tests = record.Tests("check-layers")
TREE = {
    "src/base/base.h": "#include <perdure/types.h>\n",
    "src/value/value_node.h": '#include "base.h"\n#include <stdint.h>\n',
    "src/codec/json.c": '#include "value_node.h"\n'
                        '#include "../base/base.h"\n'
                        "#include <perdure/json.h>\n",
    "src/store/builtin.c": '#include "sqlite/sqlite.h"\n',
    "src/store/sqlite/sqlite.h": "#include <sqlite3.h>\n",
    "src/cli/main.c": '#include <perdure.h>\n#include "cli.h"\n',
    "src/cli/cli.h": "",
    "include/perdure/types.h": "#include <stdint.h>\n",
    "examples/a.c": "#include <perdure.h>\n#include <stdio.h>\n",
}


def breaks(name, path, include, expected):
    @tests.test(name)
    def _():
        text = TREE.get(path, "")
        number = text.count("\n") + 1
        refuses("check-layers", {**TREE, path: text + include + "\n"},
                f"{path}:{number}: ")
        refuses("check-layers", {**TREE, path: text + include + "\n"},
                expected)


@tests.test("tree in order: is accepted")
def _():
    accepts("check-layers", TREE)


@tests.test("word in a comment: is no include")
def _():
    accepts("check-layers", {**TREE, "src/base/a.c": "/* see sqlite3.h */\n"})


breaks("include upwards: is found", "src/base/base.h",
       '#include "value_node.h"', "lies in value, which is not below base")
breaks("include by a path upwards: is found", "src/base/base.h",
       '#include "../value/value_node.h"', "lies in value")
breaks("include sideways: is found", "src/net/sse.c",
       '#include "sqlite.h"', "lies in store/sqlite, which is not below net")
breaks("backend outside builtin.c: is found", "src/store/store.c",
       '#include "sqlite/sqlite.h"', "lies in store/sqlite")
breaks("public header of an upper layer: is found", "src/value/value_node.h",
       "#include <perdure/json.h>", "belongs to codec")
breaks("umbrella inside the library: is found", "src/value/value_node.h",
       "#include <perdure.h>", "umbrella")
breaks("public header without a layer: is found", "src/value/value_node.h",
       "#include <perdure/strange.h>", "has no layer")
breaks("foreign header outside its fence: is found", "src/codec/json.c",
       "#include <openssl/evp.h>", "belongs in src/base/digest.c only")
breaks("foreign header without a fence: is found", "src/codec/json.c",
       "#include <jansson.h>", "without a fence")
breaks("internal header in the command: is found", "src/cli/main.c",
       '#include "base.h"', "lies in base")
breaks("internal header in an example: is found", "examples/a.c",
       '#include "../src/base/base.h"', "is quoted")
breaks("system header in a public one: is found", "include/perdure/types.h",
       "#include <pthread.h>", "is not for public headers")
breaks("folder that the picture lacks: is found", "src/util/util.c",
       "#include <stdio.h>", "picture does not show")
breaks("header that is not there: is found", "src/codec/json.c",
       '#include "nowhere.h"', "is not found")
tests.finish()
