"""How fresh a live query is: from a producer's stamp to foreachBatch, native beside aligned
(`make bench-live`).
"""
