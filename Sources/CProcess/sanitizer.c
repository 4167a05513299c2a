// swift-subprocess guards what its threads share by the standard library's Mutex. On Linux the thread sanitizer cannot
// see that lock, and would take each use of it for a race. Only code of that library is passed over.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void) { return "race:swift-subprocess/Sources/\n"; }
#endif
#endif
