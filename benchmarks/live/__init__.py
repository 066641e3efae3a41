"""How fresh a live query is: from a producer's stamp to foreachBatch, plain Spark beside aligned
(`make bench-live`).
"""
