"""What is there for speed alone, in six parts; each has a plain way beside it that answers alike.
`app`, `server`, `service` and `store` use the parts, and choose by `switches.Fast`.
Theory: each module's docstring. The same tests run over both ways (`fast` in the tests' conftest).

    part           plain way beside it               reports per processor second, times as many
    lean_reports   FastAPI's routes (api.reports)    5.5   one report a request, on memory
    whole_answers  uvicorn's own (intake.Intake)     1.2   the same
    redis_link     redis-py's pool                   1.2   one report a request, on Redis
    group_cache    each commit loads its group       4.1   the same, a group of 1,000 readers
    gathering      a commit takes what is there      1.0   on one process and on two: no gain seen
    claims         refused commits are repeated      1.3   two processes on one group
    all of them                                      5.6 on memory, 8.4 on Redis

`lean_reports` includes `decoding`, whose plain way is the core's codec. Measured on 2026-11-23, on
two cores that other work shared, so the second digit is uncertain. Measure again:

    make bench-coordinator ARGS=fast

Switch parts off with the hidden option `lockgate serve --plain PART,PART` (or `all`), or with
LOCKGATE_PLAIN in the environment. In a test: `Settings(fast=without(["redis_link"]))`.
"""
