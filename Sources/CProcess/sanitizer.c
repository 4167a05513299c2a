// swift-subprocess uses the standard library's Mutex between its threads. On Linux the thread sanitizer cannot see that
// lock and would report a race for each use. Only that library's code is suppressed.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void) { return "race:swift-subprocess/Sources/\n"; }
#endif
#endif
