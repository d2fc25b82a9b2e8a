/* A test that claims four statements, one more than the harness takes. */
#include "test.h"

TEST(claims, are_at_most_three)
{
    COVERS("S-1");
    COVERS("S-2");
    COVERS("S-3");
    COVERS("S-3"); /* the same once more is no further claim */
    COVERS("S-4");
}
