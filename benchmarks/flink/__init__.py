"""Flink's watermark alignment beside plain Spark and lockgate, on one broker."""
