-- ARGV: the mark that the caller knows. Answers the state since then.
return since_version(ARGV[1], mark_now(), now_ms())
