"""Conversations with tools: turn formats, answers, local and remote writers, the terminal."""
