/**
 * What the C library's allocator is told where LanceDB works. With its own number of arenas, memory that LanceDB has freed stays
 * with the process: a third of its peak. Without a fixed threshold it keeps buffers of rows in pieces of heap that never go back.
 */
export const ALLOCATOR_SETTINGS = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '1048576' } as const;
