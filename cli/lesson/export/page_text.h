/* What every page of a lesson has: its style and its script. */
#ifndef SHARDLAB_LESSON_PAGE_TEXT_H
#define SHARDLAB_LESSON_PAGE_TEXT_H

extern const char lesson_page_style[], lesson_page_script[];

#endif
