-- ARGV: the version that the caller knows. Answers the state since then.
return since_version(ARGV[1], version_now(), now_ms())
