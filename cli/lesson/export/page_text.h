/* The style and the script that every page of lessons has. */
#ifndef SHARDLAB_LESSON_PAGE_TEXT_H
#define SHARDLAB_LESSON_PAGE_TEXT_H

extern const char lesson_page_style[], lesson_page_script[];

#endif
