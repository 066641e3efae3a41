-- ARGV: the version that the caller knows. Answers what stands.
return standing(ARGV[1], version_now(), now_ms())
