/* Columns of lists that are written as one macro: LIST(X) gives X(constant, name, …) for each row.
 *
 *     static const char *const names[] = {CATEGORY_LIST(SECOND)};
 */
#ifndef SHARDLAB_LIST_H
#define SHARDLAB_LIST_H

#define SECOND(first, ...) SECOND_(__VA_ARGS__, )
#define SECOND_(second, ...) second,
#define THIRD(first, second, ...) SECOND_(__VA_ARGS__, )

#endif
