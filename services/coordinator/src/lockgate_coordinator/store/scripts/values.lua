-- ARGV: fields (as msgpack). Answers the values of the first of them, at least of one.
return values(cmsgpack.unpack(ARGV[1]))
