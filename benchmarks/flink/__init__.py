"""Flink's own watermark alignment, measured."""
